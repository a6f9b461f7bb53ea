#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "feroma/net/server_options.h"
#include "feroma/runtime/client_pool.h"
#include "net/session.h"

namespace feroma::net {

/// What was counted since the server started; for the log and /metrics.
struct Traffic {
  std::map<v1::Reason, std::uint64_t> verdicts;
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  std::uint64_t connections = 0;
};

/**
 * The clients of a federation as the server sees them: who is there, what each was asked, and what came back. A
 * ClientPool whose clients are at the other end of a network; sessions report to it from the transport's threads.
 */
class Hub final : public ClientPool, public SessionEvents {
 public:
  struct Job {
    std::string id;
    std::string config;
    std::shared_ptr<const ParamLayout> layout;
    bool telemetry = true;      ///< false where clients' counts and accuracies stay with them
    std::uint32_t clients = 0;  ///< ids are below this
  };
  Hub(Job job, const ServerOptions& options, Round committed, const std::atomic<bool>& stop);
  ~Hub() override;

  /// A new connection; `wake` as in Session.
  [[nodiscard]] std::shared_ptr<Session> connect(Peer peer, std::function<void()> wake);

  [[nodiscard]] std::vector<ClientId> present() const;
  /// Connections of any kind, those without a greeting included.
  [[nodiscard]] std::size_t connections() const;
  /// Waits until all of `wanted` are there or the time is over, and returns those that are; an `interrupted` error when
  /// the server is to stop.
  [[nodiscard]] std::vector<ClientId> await(std::span<const ClientId> wanted, double seconds);
  /// Waits until at least so many are there.
  [[nodiscard]] std::vector<ClientId> await(int count);

  /// Lets some time pass; an `interrupted` error as above.
  void pause(double seconds);

  [[nodiscard]] std::map<ClientId, ClientOutcome> exchange(const Algorithm& algorithm, Round round, int phase,
                                                           std::span<const ClientId> participants) override;
  /// Clients remember for themselves.
  void save(ModelWriter&) const override {}
  void load(ModelReader&) override {}
  /// Tells everybody that a round cannot be lost any more.
  void announce(Round round);
  /// Says goodbye to everybody.
  void dismiss(const Refusal& refusal);
  /// Ends every connection without a word, as a server that dies does.
  void sever();
  /// Gives up on who was not heard or is too slow; called now and then.
  void sweep();
  [[nodiscard]] Traffic traffic() const;

  // ---- SessionEvents ----
  void greet(const std::shared_ptr<Session>& session, const v1::Hello& hello) override;
  void deliver(Session& session, Delivery delivery) override;
  void refused(v1::Reason reason) override;
  void left(Session& session) override;

 private:
  /// One phase on its way.
  struct Exchange {
    const Algorithm* algorithm = nullptr;
    Round round = 0;
    int phase = 0;
    std::map<ClientId, std::pair<v1::Task, Parcel>> tasks;
    std::map<ClientId, std::string> digests;  ///< of the answers that count
    std::map<ClientId, ClientOutcome> outcomes;
  };

  [[nodiscard]] std::vector<std::shared_ptr<Session>> everybody() const;
  [[nodiscard]] Clock::duration scaled(double seconds) const;
  [[nodiscard]] ClientId identity(const Session& session, const v1::Hello& hello) const;
  void check_hello(const v1::Hello& hello) const;
  [[nodiscard]] v1::Verdict judge(ClientId client, Delivery delivery);
  [[nodiscard]] v1::Verdict count_answer(ClientId client, const v1::Answer& head, ClientOutcome outcome);
  /// Whether the current exchange has all it waits for.
  [[nodiscard]] bool is_over(Clock::time_point began, std::optional<Clock::time_point>& enough) const;
  void wait(std::unique_lock<std::mutex>& lock, Clock::time_point until);

  const Job job_;
  const ServerOptions options_;
  const std::atomic<bool>& stop_;
  std::uint64_t largest_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<ClientId, std::shared_ptr<Session>> sessions_;
  std::set<std::shared_ptr<Session>> strangers_;  ///< connected, but not yet greeted or no longer wanted
  std::optional<Exchange> exchange_;
  /// Held while an answer is checked: the algorithm must not change meanwhile.
  std::shared_mutex checking_;
  Round committed_;
  Traffic traffic_;
};

}  // namespace feroma::net
