#include "net/phase.h"

#include <algorithm>

#include "feroma/core/error.h"
#include "feroma/net/codec.h"
#include "feroma/runtime/input_survey.h"
#include "net/telemetry.h"

namespace feroma::net {

v1::Verdict verdict_on(const v1::Answer& head, v1::Reason reason, const std::string& text) {
  v1::Verdict verdict;
  verdict.set_round(head.round());
  verdict.set_phase(head.phase());
  verdict.set_reason(reason);
  verdict.set_text(printable(text));
  return verdict;
}

Phase::Phase(const Algorithm& algorithm, Round round, int phase, std::span<const ClientId> participants, Rules rules)
    : algorithm_(algorithm), round_(round), phase_(phase), rules_(std::move(rules)) {
  for (const ClientId client : participants) {
    tasks_[client] = {};
  }
}

std::vector<ClientId> Phase::clients() const {
  std::vector<ClientId> clients;
  for (const auto& [client, task] : tasks_) {
    clients.push_back(client);
  }
  return clients;
}

Assignment Phase::task_of(ClientId client) {
  Message message = algorithm_.downlink(round_, phase_, client);
  put_scales(message, rules_.scales);
  Assignment assignment = make_assignment(round_, phase_, encode_message(message, *rules_.layout));
  assignment.task.set_task(algorithm_.task(round_, phase_));
  const std::uint64_t largest = largest_answer(algorithm_.models_in_answer(round_, phase_, client), *rules_.layout);
  const std::lock_guard lock(mutex_);
  tasks_.at(client) = {assignment.parcel.digest, static_cast<std::int64_t>(assignment.parcel.bytes->size()), largest};
  return assignment;
}

bool Phase::has_answered(ClientId client) const {
  const std::lock_guard lock(mutex_);
  return outcomes_.contains(client);
}

std::size_t Phase::answered() const {
  const std::lock_guard lock(mutex_);
  return outcomes_.size();
}

std::vector<ClientId> Phase::awaited() const {
  const std::lock_guard lock(mutex_);
  std::vector<ClientId> clients;
  for (const auto& [client, task] : tasks_) {
    if (!outcomes_.contains(client) && !departed_.contains(client)) {
      clients.push_back(client);
    }
  }
  return clients;
}

void Phase::departed(ClientId client, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (tasks_.contains(client) && !outcomes_.contains(client)) {
    departed_[client] = why;
  }
}

void Phase::asked_again(ClientId client) {
  const std::lock_guard lock(mutex_);
  departed_.erase(client);
}

std::optional<v1::Verdict> Phase::objection(ClientId client, const v1::Answer& head) const {
  const std::lock_guard lock(mutex_);
  if (closed_ || round_ != head.round() || phase_ != head.phase()) {
    return verdict_on(head, v1::LATE, "the round went on without it");
  }
  const auto task = tasks_.find(client);
  if (task == tasks_.end() || head.task().empty() || task->second.digest != head.task()) {
    return verdict_on(head, v1::UNASKED, "no such task was given to this client");
  }
  const auto counted = digests_.find(client);
  if (counted == digests_.end()) {
    if (head.size() > task->second.largest) {
      throw Refusal{v1::TOO_LARGE, fmt::format("the answer to this task has at most {} bytes, got {}",
                                               task->second.largest, head.size())};
    }
    return std::nullopt;
  }
  return counted->second == head.digest()
             ? verdict_on(head, v1::DUPLICATE)
             : verdict_on(head, v1::CONFLICT, "another answer to the same task was counted before");
}

v1::Verdict Phase::judge(ClientId client, const Delivery& delivery) {
  const v1::Answer& head = delivery.head;
  const std::shared_lock judging(judging_);
  if (const std::optional<v1::Verdict> no = objection(client, head)) {
    return *no;
  }
  ClientOutcome outcome;
  if (head.size() == 0) {
    outcome.answer = ClientDropped{head.failed().empty() ? "it gave no reason" : head.failed()};
    return count(client, head, std::move(outcome));
  }
  if (head.has_telemetry() && (!rules_.telemetry || !is_believable(head.telemetry()))) {
    return verdict_on(head, v1::MALFORMED, "telemetry that was not asked for, or is no number");
  }
  outcome.report = report_of(head.telemetry());
  Message message;
  try {
    message = decode_message(delivery.bytes, rules_.layout, fmt::format("client {}'s answer", to_index(client)));
  } catch (const Error& error) {
    return verdict_on(head, v1::MALFORMED, error.what());
  }
  try {
    algorithm_.check_answer(round_, phase_, client, message);
  } catch (const Error& error) {
    outcome.answer = ClientDropped{error.what()};
    const v1::Verdict verdict = count(client, head, std::move(outcome));
    return verdict.reason() == v1::ACCEPTED ? verdict_on(head, v1::UNBELIEVABLE, error.what()) : verdict;
  }
  const std::int64_t size = message.bytes();
  outcome.answer = ClientAnswer{std::move(message), size};
  return count(client, head, std::move(outcome));
}

v1::Verdict Phase::count(ClientId client, const v1::Answer& head, ClientOutcome outcome) {
  // Somebody else may have been faster: another connection of the same client.
  if (const std::optional<v1::Verdict> no = objection(client, head)) {
    return *no;
  }
  const std::lock_guard lock(mutex_);
  outcome.bytes_down = tasks_.at(client).size;
  const bool is_first = digests_.emplace(client, head.digest()).second;
  if (!is_first) {
    return verdict_on(head, v1::CONFLICT, "another answer to the same task was counted before");
  }
  outcomes_[client] = std::move(outcome);
  departed_.erase(client);
  return verdict_on(head, v1::ACCEPTED);
}

Clock::time_point Phase::next_end() const {
  const std::lock_guard lock(mutex_);
  return enough_ ? std::min(deadline(), *enough_ + rules_.grace) : deadline();
}

bool Phase::is_over(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const std::size_t heard = outcomes_.size() + departed_.size();
  if (heard == tasks_.size() || now >= deadline()) {
    return true;
  }
  const auto answered =
      static_cast<std::size_t>(std::count_if(outcomes_.begin(), outcomes_.end(), [](const auto& entry) {
        return std::holds_alternative<ClientAnswer>(entry.second.answer);
      }));
  const std::size_t asked = tasks_.size() - (heard - answered);  // who failed or left is not waited for
  if (static_cast<double>(answered) >= rules_.quorum * static_cast<double>(asked) && answered >= 2) {
    enough_ = enough_.value_or(now);
    return now - *enough_ >= rules_.grace;
  }
  return false;
}

std::map<ClientId, std::optional<ClientOutcome>> Phase::close() {
  const std::unique_lock judged(judging_);
  const std::lock_guard lock(mutex_);
  closed_ = true;
  std::map<ClientId, std::optional<ClientOutcome>> all;
  for (const auto& [client, task] : tasks_) {
    std::optional<ClientOutcome>& outcome = all[client];
    const auto found = outcomes_.find(client);
    if (found != outcomes_.end()) {
      outcome = std::move(found->second);
    } else if (const auto departed = departed_.find(client); departed != departed_.end()) {
      outcome.emplace().answer = ClientDropped{departed->second};
    }
  }
  return all;
}

}  // namespace feroma::net
