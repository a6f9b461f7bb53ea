#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "feroma/core/stop.h"
#include "feroma/net/server_options.h"
#include "feroma/privacy/ledger.h"
#include "feroma/runtime/client_pool.h"
#include "net/client_state.h"
#include "net/line_limit.h"
#include "net/phase.h"
#include "net/session.h"
#include "net/visitor_desk.h"

namespace feroma::net {

/// What was counted since the server started; for the log and /metrics.
struct Traffic {
  std::map<v1::Reason, std::uint64_t> verdicts;
  std::uint64_t outliers = 0;  ///< answers that were accepted when they came, and refused beside the others'
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  std::uint64_t connections = 0;
  std::uint64_t visitors = 0;  ///< that were made an offer
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
    v1::Samples samples = {};   ///< what clients' samples are like
    /// The algorithm after the last finished round, for visitors; null before the first. From any thread.
    std::function<std::shared_ptr<const Algorithm>()> committed = {};
    std::uint64_t models_per_answer = ModelsInMessage().answer;
    /// Keeps how often somebody has released something, for the next Past; from any thread.
    std::function<void(const std::string& releaser, const ReleaseCount& count)> keep_count = {};
  };
  /// What is known of rounds that were finished before.
  struct Past {
    Round committed = 0;
    std::map<ClientId, Counted> counted = {};  ///< the last round that each client's answers went into
    ReleaseCounts released = {};               ///< how often each client and visitor has released something
  };
  /// With `drain` set, waits between rounds end as if with `stop`, but a round that was begun goes on.
  Hub(Job job, const ServerOptions& options, Past past, const Stop& stop, const Stop* drain = nullptr);
  ~Hub() override;

  /// A new connection; `wake` as in Session.
  [[nodiscard]] std::shared_ptr<Session> connect(Peer peer, std::function<void()> wake);

  [[nodiscard]] std::vector<ClientId> present() const;
  [[nodiscard]] bool is_present(ClientId client) const;
  /// How many seconds ago each of them was heard, by index.
  [[nodiscard]] std::map<std::uint32_t, double> heard() const;
  /// How often each client was refused something since the start, by index; others are not in it.
  [[nodiscard]] std::map<std::uint32_t, std::uint64_t> refusals() const;
  /// Connections of any kind, those without a greeting included.
  [[nodiscard]] std::size_t connections() const;
  /// Waits until all of `wanted` are there or departed, or the time is over, and returns those that are there; an
  /// `interrupted` error when the server is to stop.
  [[nodiscard]] std::vector<ClientId> await(std::span<const ClientId> wanted, double seconds);
  /// Waits until at least so many are there.
  [[nodiscard]] std::vector<ClientId> await(int count);

  /// Lets some time pass; an `interrupted` error as above.
  void pause(double seconds);

  /// From now on every task and every visitor's question says how inputs are scaled.
  void scale_inputs(InputScales scales);
  [[nodiscard]] std::map<ClientId, ClientOutcome> exchange(const Algorithm& algorithm, Round round, int phase,
                                                           std::span<const ClientId> participants) override;
  void refused_beside_others() override;
  [[nodiscard]] std::string called(ClientId client) const override;
  /// Clients remember for themselves.
  void save(ModelWriter&) const override {}
  void load(ModelReader&) override {}
  /// Tells everybody that a round cannot be lost any more; `counted` is how many phases of whose answers went in.
  void announce(Round round, const std::map<ClientId, int>& counted);
  [[nodiscard]] Past past() const;
  /// Clients that came with nothing of what they were sent before, since this was asked last.
  [[nodiscard]] std::set<ClientId> take_forgetful();
  /// Says goodbye to everybody.
  void dismiss(const Refusal& refusal);
  /// Says goodbye to those who are not wanted any more, with a line in the log for each, and does not wait for them.
  void send_away(const std::function<bool(const Peer& peer)>& unwanted, const Refusal& refusal);
  /// Does not wait for clients that would not be let in.
  void shut_out(const std::set<ClientId>& clients, const std::string& why);
  /// Somebody was refused before there was a session: counts it and writes it down.
  void turned_away(const Peer& peer, const Refusal& refusal);
  /// Tells everybody that the federation is finished, and those who come from now on as well.
  void finish();
  /// Waits until everybody who ever came was told that it is finished, or the time is over.
  void await_farewells(double seconds);
  /// Ends every connection without a word, as a server that dies does.
  void sever();
  /// Gives up on who was not heard or is too slow, and writes lines that were held back; called now and then.
  void sweep();
  [[nodiscard]] Traffic traffic() const;
  /// The round and the phase under way, from 1; zeros where there is none.
  [[nodiscard]] std::pair<Round, int> under_way() const;

  // ---- SessionEvents ----
  void greet(const std::shared_ptr<Session>& session, const v1::Hello& hello) override;
  [[nodiscard]] std::optional<v1::Verdict> objection(Session& session, const v1::Answer& head) override;
  void deliver(Session& session, Delivery delivery) override;
  void refused(const Session& session, const Refusal& refusal) override;
  void said_goodbye(Session& session, const std::string& why) override;
  void left(Session& session) override;

 private:
  void receive_visitor(const std::shared_ptr<Session>& session, const v1::Visit& visit);
  /// Tells a newcomer of rounds that were finished since its welcome was written. Needs the lock, and lets go of it.
  void catch_up(std::unique_lock<std::mutex>& lock, Session& session, ClientId client, Round told);
  void give(Session& session, Assignment assignment);
  /// Counts what a client says it has released. Only with an answer that counts is it kept, so that nobody fills a
  /// disk.
  void count_release(const Session& session, const v1::Released& released, bool is_kept);
  /// What this client, or visitor, is known to have released. Needs the lock.
  void tell_released(const Session& session, std::optional<ClientId> client, v1::Welcome& welcome) const;
  [[nodiscard]] v1::Welcome welcome_to(std::uint32_t id) const;
  /// Counts what was said; what speaks against a client of ours, for that client as well. Needs the lock.
  void tally(v1::Reason reason, std::optional<ClientId> client);
  void count_and_write(const Peer& peer, std::optional<ClientId> client, const Refusal& refusal);
  /// The same for the verdict on an answer.
  void write_refused_answer(const Peer& peer, ClientId client, const v1::Verdict& verdict);
  /// That a visitor was made an offer.
  void write_served(const Peer& peer, Round round);
  /// A visitor more of one certificate is refused where it has several here.
  void check_visits(const Session& session) const;
  /// Clients; and with them all other connections.
  [[nodiscard]] std::vector<std::shared_ptr<Session>> everybody() const;
  [[nodiscard]] std::vector<std::shared_ptr<Session>> all_connections() const;
  void say_finished(const std::vector<std::shared_ptr<Session>>& sessions);
  [[nodiscard]] InputScales scales() const;
  [[nodiscard]] ClientId identity(const Session& session, const v1::Hello& hello) const;
  void check_hello(const v1::Hello& hello) const;
  /// Whether a round that is under way is the last one for now.
  [[nodiscard]] bool drains() const { return drain_ != nullptr && drain_->requested(); }
  /// A client is not waited for until it comes again. Needs the lock.
  void depart(ClientId client, const std::string& why);
  /// A server that is to stop waits no longer than the grace, `since` it began to, for clients that may come back, and
  /// says once for whom it waits.
  void hurry(Phase& phase, Clock::time_point now, std::optional<Clock::time_point>& since);
  /// Makes whoever waits look again.
  void wake();
  /// Ends the waits under way; with the lock held.
  void changed();
  void tell_who_is_awaited(const Phase& phase);
  /// "client 3 (hospital-a)", "clients 3, 5 and 7 more".
  [[nodiscard]] std::string all_called(std::span<const ClientId> clients) const;
  /// Gives those their tasks who are there and have not been given them.
  void tell_tasks(Phase& phase, std::set<std::shared_ptr<Session>>& told);
  void await_answers(Phase& phase);
  enum class Waiting { in_round, between_rounds };
  void wait(std::unique_lock<std::mutex>& lock, Clock::time_point until, Waiting waiting = Waiting::between_rounds);

  const Job job_;
  const ServerOptions options_;
  const Clock& clock_;
  const Stop& stop_;
  const Stop* drain_;
  std::uint64_t largest_;
  std::mutex counting_;                     ///< held while a count of releases is kept; taken before `mutex_`
  std::map<std::string, int> kept_counts_;  ///< of visitors' data, with that lock
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t changes_ = 0;  ///< that were told of
  std::map<ClientId, std::shared_ptr<Session>> sessions_;
  std::set<std::shared_ptr<Session>> strangers_;  ///< connected, but not yet greeted or no longer wanted
  std::map<std::shared_ptr<Session>, Clock::time_point> visitors_;  ///< and since when
  LineLimit complaints_;  ///< of each reason, and of each client's answers, one line a second
  LineLimit comings_;     ///< and goings
  VisitorDesk desk_;
  std::shared_ptr<Phase> phase_;              ///< under way
  std::map<ClientId, std::string> departed_;  ///< said goodbye or were sent away, and have not come back
  Past past_;
  InputScales scales_;
  std::set<ClientId> forgetful_;
  std::set<ClientId> known_;               ///< whoever came, ever
  std::set<ClientId> told_;                ///< of them, those who know that the federation is finished
  std::set<ClientId> shut_out_;            ///< who would not be let in
  std::map<ClientId, std::string> names_;  ///< of those who came since the start, as their certificates say
  bool finished_ = false;
  Traffic traffic_;
  std::map<std::uint32_t, std::uint64_t> refusals_;  ///< by client
  // Last: they use the others.
  std::stop_callback<std::function<void()>> wake_to_stop_;
  std::stop_callback<std::function<void()>> wake_to_drain_;
};

}  // namespace feroma::net
