#include "net/hub.h"

#include <algorithm>

#include "feroma/core/build_info.h"
#include "feroma/core/error.h"
#include "feroma/core/fault_point.h"
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

}  // namespace

Hub::Hub(Job job, const ServerOptions& options, Past past, const std::atomic<bool>& stop,
         const std::atomic<bool>* drain)
    : job_(std::move(job)),
      options_(options),
      stop_(stop),
      drain_(drain),
      largest_(kSmallParts + kModelsPerAnswer * job_.layout->size * sizeof(float)),
      desk_(job_.layout, job_.committed, options.candidates),
      past_(std::move(past)) {
  for (const auto& [client, counted] : past_.counted) {
    known_.insert(client);
  }
}

Hub::~Hub() = default;

Clock::duration Hub::scaled(double seconds) const {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds * options_.clock));
}

std::shared_ptr<Session> Hub::connect(Peer peer, std::function<void()> wake) {
  auto session = std::make_shared<Session>(
      *this, std::move(peer),
      Session::Limits{largest_, scaled(options_.transfer_seconds), options_.bytes_per_second / options_.clock},
      make_nonce(), std::move(wake));
  fault_point("hub.connected");
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
  if (!hello.job().empty() && hello.committed() > past_.committed) {
    throw Refusal{v1::AHEAD, fmt::format("this server has finished round {}, the client saw round {} finished: was an "
                                         "older state restored?",
                                         past_.committed, hello.committed())};
  }
}

v1::Welcome Hub::welcome_to(std::uint32_t id) const {
  v1::Welcome welcome;
  welcome.set_job(job_.id);
  welcome.set_config(job_.config);
  welcome.set_committed(past_.committed);
  welcome.set_heartbeat_seconds(options_.heartbeat_seconds * options_.clock);
  welcome.set_largest(largest_);
  welcome.set_id(id);
  welcome.set_layout(layout_digest(*job_.layout));
  *welcome.mutable_samples() = job_.samples;
  return welcome;
}

void Hub::greet(const std::shared_ptr<Session>& session, const v1::Hello& hello) {
  fault_point("hub.hello");
  std::unique_lock lock(mutex_);
  check_hello(hello);
  if (hello.has_visit()) {
    lock.unlock();
    receive_visitor(*session, hello.visit());
    return;
  }
  const ClientId client = identity(*session, hello);
  v1::Welcome welcome = welcome_to(to_index(client));
  if (const auto counted = past_.counted.find(client); counted != past_.counted.end()) {
    welcome.mutable_counted()->set_round(counted->second.round);
    welcome.mutable_counted()->set_phases(counted->second.phases);
  }
  known_.insert(client);
  if (!hello.remembers()) {
    forgetful_.insert(client);
  }
  lock.unlock();
  session->identify(client);
  // Once others can see the session they may give it a task, which must not overtake the welcome.
  session->welcome(welcome);
  fault_point("hub.welcomed");
  lock.lock();
  strangers_.erase(session);
  const std::shared_ptr<Session> old = std::exchange(sessions_[client], session);
  if (old != nullptr) {
    strangers_.insert(old);  // until it has left, or is too slow to
  }
  // A round may have been finished since the welcome was written; the client was not there to take part in it.
  const bool missed = past_.committed != welcome.committed();
  const Round committed = past_.committed;
  const auto counted = past_.counted.find(client);
  const int phases = counted != past_.counted.end() && counted->second.round == committed ? counted->second.phases : 0;
  const bool finished = finished_;
  lock.unlock();
  if (missed) {
    session->tell_committed(committed, phases);
  }
  if (old != nullptr) {
    old->close({v1::TWICE, "the same client came again", 0});
  }
  if (finished) {
    say_finished({session});
  }
  changed_.notify_all();
}

void Hub::left(Session& session) {
  fault_point("hub.left");
  {
    const std::lock_guard lock(mutex_);
    strangers_.erase(session.shared_from_this());
    desk_.left(session);
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

void Hub::receive_visitor(Session& session, const v1::Visit& visit) {
  fault_point("hub.visitor_asked");
  v1::Welcome welcome;
  {
    const std::lock_guard lock(mutex_);
    welcome = welcome_to(0);
  }
  Assignment question = desk_.ask(session, visit, welcome.committed());
  session.welcome(welcome);
  give(session, std::move(question));
}

void Hub::give(Session& session, Assignment assignment) {
  {
    const std::lock_guard lock(mutex_);
    traffic_.bytes_down += assignment.parcel.bytes->size();
  }
  session.give(assignment.task, std::move(assignment.parcel));
  fault_point("hub.task_given");
}

void Hub::deliver(Session& session, Delivery delivery) {
  if (!session.client()) {
    Assignment offer = desk_.serve(session, delivery);
    {
      const std::lock_guard lock(mutex_);
      traffic_.visitors += 1;
      traffic_.bytes_up += delivery.bytes.size();
    }
    give(session, std::move(offer));
    return;
  }
  const ClientId client = session.client().value();
  std::shared_ptr<Phase> phase;
  {
    const std::lock_guard lock(mutex_);
    phase = phase_;
  }
  const v1::Verdict verdict = phase != nullptr ? phase->judge(client, delivery)
                                               : verdict_on(delivery.head, v1::LATE, "the round went on without it");
  {
    const std::lock_guard lock(mutex_);
    traffic_.verdicts[verdict.reason()] += 1;
    traffic_.bytes_up += delivery.bytes.size();
  }
  if (verdict.reason() != v1::ACCEPTED && verdict.reason() != v1::DUPLICATE) {
    log::warning("round {}: answer of client {} refused ({}): {}", verdict.round(), to_index(client),
                 v1::Reason_Name(verdict.reason()), verdict.text());
  }
  fault_point("hub.answer_judged");
  session.tell(verdict);
  fault_point("hub.verdict_told");
  changed_.notify_all();
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

void Hub::wait(std::unique_lock<std::mutex>& lock, Clock::time_point until, Waiting waiting) {
  const bool drains = waiting == Waiting::between_rounds && drain_ != nullptr && *drain_;
  require(!stop_ && !drains, ErrorCode::interrupted, "the server was told to stop");
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
  do {
    wait(lock, until);
  } while (Clock::now() < until);
}

void Hub::tell_tasks(Phase& phase, std::set<std::shared_ptr<Session>>& told) {
  // Sessions are told without the lock: they may report back at once.
  std::vector<std::pair<std::shared_ptr<Session>, ClientId>> tell;
  {
    const std::lock_guard lock(mutex_);
    for (const ClientId client : phase.clients()) {
      const auto session = sessions_.find(client);
      if (session != sessions_.end() && !phase.has_answered(client) && told.insert(session->second).second) {
        tell.emplace_back(session->second, client);
      }
    }
  }
  for (const auto& [session, client] : tell) {
    give(*session, phase.task_of(client));
  }
}

void Hub::await_answers(Phase& phase) {
  std::set<std::shared_ptr<Session>> told;
  while (!phase.is_over(Clock::now())) {
    tell_tasks(phase, told);  // who comes back meanwhile is asked again
    std::unique_lock lock(mutex_);
    if (!phase.is_over(Clock::now())) {
      wait(lock, phase.deadline(), Waiting::in_round);
    }
  }
}

std::map<ClientId, ClientOutcome> Hub::exchange(const Algorithm& algorithm, Round round, int phase,
                                                std::span<const ClientId> participants) {
  const auto under_way =
      std::make_shared<Phase>(algorithm, round, phase, participants,
                              Phase::Rules{job_.layout, job_.telemetry, options_.quorum, scaled(options_.grace_seconds),
                                           scaled(options_.round_seconds)});
  const auto set_phase = [this](std::shared_ptr<Phase> present) {
    const std::lock_guard lock(mutex_);
    phase_ = std::move(present);
  };
  set_phase(under_way);
  try {
    await_answers(*under_way);
  } catch (const Error&) {
    set_phase(nullptr);
    static_cast<void>(under_way->close());  // nobody asks the algorithm any more
    throw;
  }
  set_phase(nullptr);
  std::map<ClientId, ClientOutcome> outcomes;
  std::ptrdiff_t answered = 0;
  for (auto& [client, outcome] : under_way->close()) {
    if (!outcome) {
      const bool there = is_present(client);
      outcome.emplace().answer = ClientDropped{there ? "it did not answer in time" : "its connection was lost"};
    }
    answered += std::holds_alternative<ClientAnswer>(outcome->answer) ? 1 : 0;
    outcomes[client] = std::move(*outcome);
  }
  const auto needed = std::min<std::ptrdiff_t>(options_.min_answers, static_cast<std::ptrdiff_t>(outcomes.size()));
  require(answered >= needed, ErrorCode::invalid_data, "round {}: {} of {} clients answered, {} are needed", round,
          answered, outcomes.size(), needed);
  return outcomes;
}

bool Hub::is_present(ClientId client) const {
  const std::lock_guard lock(mutex_);
  return sessions_.contains(client);
}

std::vector<std::shared_ptr<Session>> Hub::everybody() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Session>> all;
  for (const auto& [client, session] : sessions_) {
    all.push_back(session);
  }
  return all;
}

void Hub::announce(Round round, const std::map<ClientId, int>& counted) {
  fault_point("announce.begun");
  {
    const std::lock_guard lock(mutex_);
    past_.committed = round;
    for (const auto& [client, phases] : counted) {
      past_.counted[client] = {round, phases};
    }
  }
  for (const auto& session : everybody()) {
    const auto found = counted.find(session->client().value());
    session->tell_committed(round, found == counted.end() ? 0 : found->second);
    fault_point("announce.one_told");
  }
  fault_point("announce.done");
}

Hub::Past Hub::past() const {
  const std::lock_guard lock(mutex_);
  return past_;
}

std::set<ClientId> Hub::take_forgetful() {
  const std::lock_guard lock(mutex_);
  return std::exchange(forgetful_, {});
}

void Hub::say_finished(const std::vector<std::shared_ptr<Session>>& sessions) {
  for (const auto& session : sessions) {
    session->close({v1::FINISHED, "all rounds are done", 0});
    fault_point("hub.goodbye_said");
    const std::lock_guard lock(mutex_);
    told_.insert(session->client().value());
  }
}

void Hub::finish() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  say_finished(everybody());
}

void Hub::await_farewells(double seconds) {
  const Clock::time_point until = Clock::now() + scaled(seconds);
  std::unique_lock lock(mutex_);
  // Those who were told are still there until they have read it.
  while ((told_ != known_ || !sessions_.empty()) && Clock::now() < until) {
    wait(lock, until);
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

std::pair<Round, int> Hub::under_way() const {
  const std::lock_guard lock(mutex_);
  return phase_ == nullptr ? std::pair(0, 0) : std::pair(phase_->round(), phase_->number() + 1);
}

Traffic Hub::traffic() const {
  const std::lock_guard lock(mutex_);
  return traffic_;
}

}  // namespace feroma::net
