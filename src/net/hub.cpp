#include "net/hub.h"

#include <algorithm>
#include <cmath>

#include "feroma/core/build_info.h"
#include "feroma/core/error.h"
#include "feroma/core/log.h"
#include "feroma/net/codec.h"
#include "net/nonce.h"

namespace feroma::net {
namespace {

/// Room for what travels besides models.
constexpr std::uint64_t kSmallParts = std::uint64_t{64} << 10;
/// Models in one answer, at most: methods with several models per client send them together.
constexpr std::uint64_t kModelsPerAnswer = 16;
/// How often a wait looks whether the server is to stop.
constexpr auto kGlance = std::chrono::milliseconds(200);

ClientReport report_of(const v1::Telemetry& telemetry) {
  const auto tally = [](const v1::Score& score) {
    Tally result;
    result.count = std::max<std::int64_t>(score.count(), 0);
    result.loss_sum = score.loss() * static_cast<double>(result.count);
    result.auroc = score.accuracy();
    return result;
  };
  ClientReport report;
  report.num_examples = telemetry.num_examples();
  report.train_loss = telemetry.train_loss();
  report.before = tally(telemetry.before());
  report.after = tally(telemetry.after());
  return report;
}

bool is_score(const v1::Score& score) {
  return std::isfinite(score.loss()) && score.accuracy() >= 0 && score.accuracy() <= 100 && score.count() >= 0;
}

bool is_believable(const v1::Telemetry& telemetry) {
  return telemetry.num_examples() >= 0 && std::isfinite(telemetry.train_loss()) && is_score(telemetry.before()) &&
         is_score(telemetry.after());
}

v1::Verdict verdict_on(const v1::Answer& head, v1::Reason reason, const std::string& text = {}) {
  v1::Verdict verdict;
  verdict.set_round(head.round());
  verdict.set_phase(head.phase());
  verdict.set_reason(reason);
  verdict.set_text(printable(text));
  return verdict;
}

}  // namespace

Hub::Hub(Job job, const ServerOptions& options, Round committed, const std::atomic<bool>& stop)
    : job_(std::move(job)),
      options_(options),
      stop_(stop),
      largest_(kSmallParts + kModelsPerAnswer * job_.layout->size * sizeof(float)),
      committed_(committed) {}

Hub::~Hub() = default;

Clock::duration Hub::scaled(double seconds) const {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds * options_.clock));
}

std::shared_ptr<Session> Hub::connect(Peer peer, std::function<void()> wake) {
  auto session = std::make_shared<Session>(
      *this, std::move(peer),
      Session::Limits{largest_, scaled(options_.transfer_seconds), options_.bytes_per_second / options_.clock},
      make_nonce(), std::move(wake));
  const std::lock_guard lock(mutex_);
  strangers_.insert(session);
  traffic_.connections += 1;
  return session;
}

ClientId Hub::identity(const Session& session, const v1::Hello& hello) const {
  const std::uint32_t id = session.peer().id ? to_index(*session.peer().id) : hello.id();
  if (id >= job_.clients) {
    throw Refusal{v1::UNKNOWN_CLIENT, fmt::format("a client's id must be below {}, got {}", job_.clients, id)};
  }
  return static_cast<ClientId>(id);
}

void Hub::check_hello(const v1::Hello& hello) const {
  if (hello.protocol() != kProtocol) {
    throw Refusal{v1::OTHER_VERSION,
                  fmt::format("this server speaks protocol {}, got {}", kProtocol, hello.protocol())};
  }
  if (!hello.job().empty() && hello.job() != job_.id) {
    throw Refusal{v1::OTHER_JOB, "this client has worked for another federation; give it a new state folder"};
  }
  if (!hello.job().empty() && hello.committed() > committed_) {
    throw Refusal{v1::AHEAD, fmt::format("this server has finished round {}, the client saw round {} finished: was an "
                                         "older state restored?",
                                         committed_, hello.committed())};
  }
}

void Hub::greet(const std::shared_ptr<Session>& session, const v1::Hello& hello) {
  std::unique_lock lock(mutex_);
  check_hello(hello);
  const ClientId client = identity(*session, hello);
  v1::Welcome welcome;
  welcome.set_job(job_.id);
  welcome.set_config(job_.config);
  welcome.set_committed(committed_);
  welcome.set_heartbeat_seconds(options_.heartbeat_seconds * options_.clock);
  welcome.set_largest(largest_);
  welcome.set_id(to_index(client));
  welcome.set_layout(layout_digest(*job_.layout));
  lock.unlock();
  session->identify(client);
  // Once others can see the session they may give it a task, which must not overtake the welcome.
  session->welcome(welcome);
  lock.lock();
  strangers_.erase(session);
  const std::shared_ptr<Session> old = std::exchange(sessions_[client], session);
  if (old != nullptr) {
    strangers_.insert(old);  // until it has left, or is too slow to
  }
  const bool missed = committed_ != welcome.committed();
  const Round committed = committed_;
  lock.unlock();
  if (missed) {
    session->tell_committed(committed);
  }
  if (old != nullptr) {
    old->close({v1::TWICE, "the same client came again", 0});
  }
  changed_.notify_all();
}

void Hub::left(Session& session) {
  {
    const std::lock_guard lock(mutex_);
    strangers_.erase(session.shared_from_this());
    const std::optional<ClientId> client = session.client();
    const auto found = client ? sessions_.find(*client) : sessions_.end();
    if (found != sessions_.end() && found->second.get() == &session) {
      sessions_.erase(found);
    }
  }
  changed_.notify_all();
}

void Hub::refused(v1::Reason reason) {
  const std::lock_guard lock(mutex_);
  traffic_.verdicts[reason] += 1;
}

void Hub::deliver(Session& session, Delivery delivery) {
  const ClientId client = session.client().value();
  const std::uint64_t size = delivery.bytes.size();
  const v1::Verdict verdict = judge(client, std::move(delivery));
  {
    const std::lock_guard lock(mutex_);
    traffic_.verdicts[verdict.reason()] += 1;
    traffic_.bytes_up += size;
  }
  if (verdict.reason() != v1::ACCEPTED && verdict.reason() != v1::DUPLICATE) {
    log::warning("round {}: answer of client {} refused ({}): {}", verdict.round(), to_index(client),
                 v1::Reason_Name(verdict.reason()), verdict.text());
  }
  session.tell(verdict);
  changed_.notify_all();
}

v1::Verdict Hub::judge(ClientId client, Delivery delivery) {
  const v1::Answer head = delivery.head;
  const std::shared_lock checking(checking_);
  const Algorithm* algorithm = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!exchange_ || exchange_->round != head.round() || exchange_->phase != head.phase()) {
      return verdict_on(head, v1::LATE, "the round went on without it");
    }
    const auto task = exchange_->tasks.find(client);
    if (task == exchange_->tasks.end() || task->second.first.digest() != head.task()) {
      return verdict_on(head, v1::UNASKED, "no such task was given to this client");
    }
    const auto counted = exchange_->digests.find(client);
    if (counted != exchange_->digests.end()) {
      return counted->second == head.digest()
                 ? verdict_on(head, v1::DUPLICATE)
                 : verdict_on(head, v1::CONFLICT, "another answer to the same task was counted before");
    }
    algorithm = exchange_->algorithm;
  }
  ClientOutcome outcome;
  if (head.size() == 0) {
    outcome.answer = ClientDropped{head.failed().empty() ? "it gave no reason" : head.failed()};
    return count_answer(client, head, std::move(outcome));
  }
  if (head.has_telemetry() && (!job_.telemetry || !is_believable(head.telemetry()))) {
    return verdict_on(head, v1::MALFORMED, "telemetry that was not asked for, or is no number");
  }
  outcome.report = report_of(head.telemetry());
  const std::string what = fmt::format("client {}'s answer", to_index(client));
  Message message;
  try {
    message = decode_message(delivery.bytes, job_.layout, what);
  } catch (const Error& error) {
    return verdict_on(head, v1::MALFORMED, error.what());
  }
  try {
    algorithm->check_answer(head.round(), head.phase(), client, message);
  } catch (const Error& error) {
    outcome.answer = ClientDropped{error.what()};
    v1::Verdict verdict = count_answer(client, head, std::move(outcome));
    if (verdict.reason() == v1::ACCEPTED) {
      verdict.set_reason(v1::UNBELIEVABLE);
      verdict.set_text(printable(error.what()));
    }
    return verdict;
  }
  const std::int64_t size = message.bytes();
  outcome.answer = ClientAnswer{std::move(message), size};
  return count_answer(client, head, std::move(outcome));
}

v1::Verdict Hub::count_answer(ClientId client, const v1::Answer& head, ClientOutcome outcome) {
  const std::lock_guard lock(mutex_);
  // Somebody else may have been faster: another connection of the same client.
  const auto [counted, is_new] = exchange_->digests.emplace(client, head.digest());
  if (!is_new) {
    return counted->second == head.digest()
               ? verdict_on(head, v1::DUPLICATE)
               : verdict_on(head, v1::CONFLICT, "another answer to the same task was counted before");
  }
  outcome.bytes_down = static_cast<std::int64_t>(exchange_->tasks.at(client).second.bytes->size());
  exchange_->outcomes[client] = std::move(outcome);
  return verdict_on(head, v1::ACCEPTED);
}

std::vector<ClientId> Hub::present() const {
  const std::lock_guard lock(mutex_);
  std::vector<ClientId> clients;
  for (const auto& [client, session] : sessions_) {
    clients.push_back(client);
  }
  return clients;
}

std::size_t Hub::connections() const {
  const std::lock_guard lock(mutex_);
  return sessions_.size() + strangers_.size();
}

void Hub::wait(std::unique_lock<std::mutex>& lock, Clock::time_point until) {
  require(!stop_, ErrorCode::interrupted, "the server was told to stop");
  changed_.wait_until(lock, std::min(until, Clock::now() + kGlance));
}

std::vector<ClientId> Hub::await(std::span<const ClientId> wanted, double seconds) {
  const Clock::time_point until = Clock::now() + scaled(seconds);
  std::unique_lock lock(mutex_);
  for (;;) {
    std::vector<ClientId> there;
    std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(there),
                 [&](ClientId client) { return sessions_.contains(client); });
    if (there.size() == wanted.size() || Clock::now() >= until) {
      return there;
    }
    wait(lock, until);
  }
}

std::vector<ClientId> Hub::await(int count) {
  std::unique_lock lock(mutex_);
  while (sessions_.size() < static_cast<std::size_t>(count)) {
    wait(lock, Clock::time_point::max());
  }
  lock.unlock();
  return present();
}

void Hub::pause(double seconds) {
  const Clock::time_point until = Clock::now() + scaled(seconds);
  std::unique_lock lock(mutex_);
  while (Clock::now() < until) {
    wait(lock, until);
  }
}

bool Hub::is_over(Clock::time_point began, std::optional<Clock::time_point>& enough) const {
  const auto now = Clock::now();
  const std::size_t heard = exchange_->outcomes.size();
  if (heard == exchange_->tasks.size() || now - began > scaled(options_.round_seconds)) {
    return true;
  }
  const auto answered = static_cast<std::size_t>(
      std::count_if(exchange_->outcomes.begin(), exchange_->outcomes.end(),
                    [](const auto& entry) { return std::holds_alternative<ClientAnswer>(entry.second.answer); }));
  const std::size_t asked = exchange_->tasks.size() - (heard - answered);  // who failed is not waited for
  if (static_cast<double>(answered) >= options_.quorum * static_cast<double>(asked) && answered >= 2) {
    enough = enough.value_or(now);
    return now - *enough > scaled(options_.grace_seconds);
  }
  return false;
}

std::map<ClientId, ClientOutcome> Hub::exchange(const Algorithm& algorithm, Round round, int phase,
                                                std::span<const ClientId> participants) {
  Exchange exchange{&algorithm, round, phase, {}, {}, {}};
  for (const ClientId client : participants) {
    Parcel parcel = make_parcel(encode_message(algorithm.downlink(round, phase, client), *job_.layout));
    v1::Task task;
    task.set_round(round);
    task.set_phase(phase);
    task.set_task(algorithm.task(round, phase));
    task.set_size(parcel.bytes->size());
    task.set_digest(parcel.digest);
    exchange.tasks[client] = {std::move(task), std::move(parcel)};
  }
  std::set<std::shared_ptr<Session>> told;
  std::optional<Clock::time_point> enough;
  const Clock::time_point began = Clock::now();
  std::unique_lock lock(mutex_);
  exchange_ = std::move(exchange);
  while (!is_over(began, enough)) {
    // Who comes back meanwhile is asked again. Sessions are told without the lock: they may report back at once.
    std::vector<std::pair<std::shared_ptr<Session>, std::pair<v1::Task, Parcel>>> tell;
    for (const auto& [client, task] : exchange_->tasks) {
      const auto session = sessions_.find(client);
      if (session != sessions_.end() && !exchange_->outcomes.contains(client) && told.insert(session->second).second) {
        tell.emplace_back(session->second, task);
        traffic_.bytes_down += task.second.bytes->size();
      }
    }
    lock.unlock();
    for (auto& [session, task] : tell) {
      session->give(task.first, std::move(task.second));
    }
    lock.lock();
    if (!is_over(began, enough)) {
      wait(lock, began + scaled(options_.round_seconds));
    }
  }
  lock.unlock();
  // Answers that are being checked still count; none that begins after this does.
  const std::unique_lock checked(checking_);
  lock.lock();
  std::map<ClientId, ClientOutcome> outcomes = std::move(exchange_->outcomes);
  for (const auto& [client, task] : exchange_->tasks) {
    if (!outcomes.contains(client)) {
      const bool there = sessions_.contains(client);
      outcomes[client].answer = ClientDropped{there ? "it did not answer in time" : "its connection was lost"};
    }
  }
  exchange_.reset();
  lock.unlock();
  const auto answered = std::count_if(outcomes.begin(), outcomes.end(), [](const auto& entry) {
    return std::holds_alternative<ClientAnswer>(entry.second.answer);
  });
  const auto needed = std::min<std::ptrdiff_t>(options_.min_answers, static_cast<std::ptrdiff_t>(outcomes.size()));
  require(answered >= needed, ErrorCode::invalid_data, "round {}: {} of {} clients answered, {} are needed", round,
          answered, outcomes.size(), needed);
  return outcomes;
}

std::vector<std::shared_ptr<Session>> Hub::everybody() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Session>> all;
  for (const auto& [client, session] : sessions_) {
    all.push_back(session);
  }
  return all;
}

void Hub::announce(Round round) {
  {
    const std::lock_guard lock(mutex_);
    committed_ = round;
  }
  for (const auto& session : everybody()) {
    session->tell_committed(round);
  }
}

void Hub::dismiss(const Refusal& refusal) {
  std::vector<std::shared_ptr<Session>> all = everybody();
  {
    const std::lock_guard lock(mutex_);
    all.insert(all.end(), strangers_.begin(), strangers_.end());
  }
  for (const auto& session : all) {
    session->close(refusal);
  }
}

void Hub::sever() {
  for (const auto& session : everybody()) {
    session->abort({v1::SHUTTING_DOWN, "", 1});
  }
}

void Hub::sweep() {
  const Clock::time_point now = Clock::now();
  std::vector<std::shared_ptr<Session>> gone;
  {
    const std::lock_guard lock(mutex_);
    const auto is_gone = [&](const std::shared_ptr<Session>& session) {
      return now - session->last_heard() > scaled(options_.dead_seconds) || session->overdue(now);
    };
    for (const auto& [client, session] : sessions_) {
      if (is_gone(session)) {
        gone.push_back(session);
      }
    }
    std::copy_if(strangers_.begin(), strangers_.end(), std::back_inserter(gone), is_gone);
  }
  for (const auto& session : gone) {
    refused(v1::TOO_SLOW);
    session->abort({v1::TOO_SLOW, "not heard, or too slow", 0.5});
  }
}

Traffic Hub::traffic() const {
  const std::lock_guard lock(mutex_);
  return traffic_;
}

}  // namespace feroma::net
