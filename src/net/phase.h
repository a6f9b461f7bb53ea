#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>

#include "feroma/net/server_options.h"
#include "feroma/runtime/client_step.h"
#include "net/session.h"

namespace feroma::net {

/// One phase of a round on its way: what each client was asked, and the answers that count. From any thread.
class Phase {
 public:
  struct Rules {
    std::shared_ptr<const ParamLayout> layout;
    bool telemetry = true;  ///< false where clients' counts and accuracies stay with them
    double quorum = 1;
    Clock::duration grace{};       ///< for the others once there are enough answers
    Clock::time_point deadline{};  ///< for all
    InputScales scales = {};       ///< of the clients' inputs, which go with every task
  };

  Phase(const Algorithm& algorithm, Round round, int phase, std::span<const ClientId> participants, Rules rules);

  [[nodiscard]] Round round() const { return round_; }
  [[nodiscard]] int number() const { return phase_; }
  [[nodiscard]] std::vector<ClientId> clients() const;
  /// What a client is asked: always the same bytes, made anew each time, because those of all clients at once would
  /// take as much memory as their models.
  [[nodiscard]] Assignment task_of(ClientId client);
  [[nodiscard]] bool has_answered(ClientId client) const;
  [[nodiscard]] std::size_t answered() const;
  /// Those that are still to answer.
  [[nodiscard]] std::vector<ClientId> awaited() const;

  /// A client that said goodbye or was sent away is not waited for, unless it comes back and is asked again.
  void departed(ClientId client, const std::string& why);
  void asked_again(ClientId client);

  /// Why an answer does not count, as far as its head tells: it is for another round or task, or not the first. One
  /// that is larger than it can be is a refusal.
  [[nodiscard]] std::optional<v1::Verdict> objection(ClientId client, const v1::Answer& head) const;
  /// Whether an answer counts. It must be the first to a task of this phase, and such as the algorithm accepts.
  [[nodiscard]] v1::Verdict judge(ClientId client, const Delivery& delivery);
  /// Whether all have answered or departed, or enough have answered and the others had their time, or the longest
  /// time is over.
  [[nodiscard]] bool is_over(Clock::time_point now);
  [[nodiscard]] Clock::time_point deadline() const { return rules_.deadline; }
  /// When it is over if nobody else answers.
  [[nodiscard]] Clock::time_point next_end() const;
  /// Ends it: answers that are being judged still count, none after them does. What came of every client; absent for
  /// those that did not answer.
  [[nodiscard]] std::map<ClientId, std::optional<ClientOutcome>> close();

 private:
  [[nodiscard]] v1::Verdict count(ClientId client, const v1::Answer& head, ClientOutcome outcome);

  const Algorithm& algorithm_;
  const Round round_;
  const int phase_;
  const Rules rules_;
  struct Task {
    std::string digest;  ///< empty until it was first given
    std::int64_t size = 0;
    std::uint64_t largest = 0;  ///< bytes of its answer
  };
  std::map<ClientId, Task> tasks_;
  /// Held while an answer is judged: the algorithm must not change meanwhile.
  std::shared_mutex judging_;
  mutable std::mutex mutex_;
  bool closed_ = false;
  std::optional<Clock::time_point> enough_;  ///< since when there are enough answers
  std::map<ClientId, std::string> digests_;  ///< of the answers that count
  std::map<ClientId, ClientOutcome> outcomes_;
  std::map<ClientId, std::string> departed_;  ///< of the others, those that are not waited for, and why
};

/// A verdict on an answer.
[[nodiscard]] v1::Verdict verdict_on(const v1::Answer& head, v1::Reason reason, const std::string& text = {});

}  // namespace feroma::net
