#include "net/hub.h"

#include <algorithm>
#include <array>

#include "feroma/core/error.h"
#include "feroma/core/fault_point.h"
#include "feroma/core/log.h"
#include "feroma/net/codec.h"
#include "net/peer_log.h"
#include "net/released.h"

namespace feroma::net {
namespace {

/// Clients whose coming is written down, and whose going, in a second: all of a few, some of a thousand.
constexpr int kComingsASecond = 5;
/// Folders of data of which a certificate's visits are counted.
constexpr std::ptrdiff_t kDataOfAVisitor = 100;
/// How often what a visitor has released of one of them is kept anew: each time takes room in the journal, and whoever
/// lies may count as far as it likes.
constexpr int kCountsOfData = 100;
/// Of more the log names some.
constexpr std::size_t kClientsInALine = 10;
/// What is said to clients that did nothing wrong: what they sent counts, they came again, or the server is the reason.
constexpr std::array kHarmless{v1::ACCEPTED,      v1::DUPLICATE, v1::TWICE,
                               v1::SHUTTING_DOWN, v1::FINISHED,  v1::UNAVAILABLE};

}  // namespace

Hub::Hub(Job job, const ServerOptions& options, Past past, const Stop& stop, const Stop* drain)
    : job_(std::move(job)),
      options_(options),
      clock_(*options.clock),
      stop_(stop),
      drain_(drain),
      largest_(largest_answer(job_.models_per_answer, *job_.layout)),
      complaints_(clock_),
      comings_(clock_, kComingsASecond),
      desk_(job_.layout, job_.committed, options.candidates),
      past_(std::move(past)),
      wake_to_stop_(stop.token(), [this] { wake(); }),
      wake_to_drain_(drain == nullptr ? std::stop_token() : drain->token(), [this] { wake(); }) {
  for (const auto& [client, counted] : past_.counted) {
    known_.insert(client);
  }
}

Hub::~Hub() = default;

void Hub::give(Session& session, Assignment assignment) {
  {
    const std::lock_guard lock(mutex_);
    traffic_.bytes_down += assignment.parcel.bytes->size();
  }
  session.give(assignment.task, std::move(assignment.parcel));
  fault_point("hub.task_given");
}

std::optional<v1::Verdict> Hub::objection(Session& session, const v1::Answer& head) {
  const std::optional<ClientId> client = session.client();
  std::optional<v1::Verdict> objection;
  if (!client) {
    desk_.check(session, head);
  } else {
    std::shared_ptr<Phase> phase;
    {
      const std::lock_guard lock(mutex_);
      phase = phase_;
    }
    objection =
        phase != nullptr ? phase->objection(*client, head) : verdict_on(head, v1::LATE, "the round went on without it");
  }
  if (head.has_released()) {
    count_release(session, head.released(), /*is_kept=*/!objection);
  }
  return objection;
}

void Hub::count_release(const Session& session, const v1::Released& released, bool is_kept) {
  const std::optional<ClientId> client = session.client();
  const std::string who = releaser(client ? client : session.peer().id, /*is_visitor=*/!client, released.data());
  ReleaseCount count = from_wire(released);
  check_released(count);
  // What is kept last must be the largest: of two answers at once neither overtakes the other on its way to the disk.
  const std::lock_guard in_order(counting_);
  bool has_grown = false;
  {
    const std::lock_guard lock(mutex_);
    if (!past_.released.contains(who) && !client &&
        std::count_if(past_.released.begin(), past_.released.end(), [&](const auto& entry) {
          return data_of(entry.first, session.peer().id).has_value();
        }) >= kDataOfAVisitor) {
      return;
    }
    ReleaseCount& known = past_.released[who];
    has_grown = count.releases > known.releases;
    if (has_grown) {
      known = count;
    }
    count = known;
  }
  if (!client && has_grown && ++kept_counts_[who] > kCountsOfData) {
    return;
  }
  if (is_kept && job_.keep_count) {
    job_.keep_count(who, count);
    fault_point("hub.release_counted");
  }
}

void Hub::tell_released(const Session& session, std::optional<ClientId> client, v1::Welcome& welcome) const {
  if (client) {
    const auto known = past_.released.find(releaser(client, /*is_visitor=*/false, ""));
    if (known != past_.released.end()) {
      *welcome.add_released() = to_wire(known->second);
    }
    return;
  }
  for (const auto& [who, count] : past_.released) {
    if (const std::optional<std::string> data = data_of(who, session.peer().id)) {
      *welcome.add_released() = to_wire(count, *data);
    }
  }
}

void Hub::deliver(Session& session, Delivery delivery) {
  if (!session.client()) {
    Assignment offer = desk_.serve(session, delivery);
    {
      const std::lock_guard lock(mutex_);
      traffic_.visitors += 1;
      traffic_.bytes_up += delivery.bytes.size();
    }
    const Round round = offer.task.round();
    give(session, std::move(offer));
    write_served(session.peer(), round);
    return;
  }
  const ClientId client = session.client().value();
  std::shared_ptr<Phase> phase;
  {
    const std::lock_guard lock(mutex_);
    phase = phase_;
  }
  const v1::Verdict verdict = delivery.objection ? *delivery.objection
                              : phase != nullptr ? phase->judge(client, delivery)
                                                 : verdict_on(delivery.head, v1::LATE, "the round went on without it");
  {
    const std::lock_guard lock(mutex_);
    tally(verdict.reason(), client);
    traffic_.bytes_up += delivery.head.size();
  }
  if (verdict.reason() != v1::ACCEPTED && verdict.reason() != v1::DUPLICATE) {
    write_refused_answer(session.peer(), client, verdict);
  }
  fault_point("hub.answer_judged");
  session.tell(verdict);
  fault_point("hub.verdict_told");
  wake();
}

void Hub::tally(v1::Reason reason, std::optional<ClientId> client) {
  traffic_.verdicts[reason] += 1;
  const bool is_harmless = std::find(kHarmless.begin(), kHarmless.end(), reason) != kHarmless.end();
  // A certificate may name an id that this federation does not have.
  if (!is_harmless && client && to_index(*client) < job_.clients) {
    refusals_[to_index(*client)] += 1;
  }
}

void Hub::write_refused_answer(const Peer& peer, ClientId client, const v1::Verdict& verdict) {
  if (!complaints_.allows(fmt::format("answers of client {} refused", to_index(client)))) {
    return;
  }
  const std::string& reason = v1::Reason_Name(verdict.reason());
  write_about(peer, log::Severity::warning,
              fmt::format("round {}: answer of client {} refused ({}): {}", verdict.round(),
                          number_and_name(client, peer.name), reason, verdict.text()),
              {{"client", to_index(client)},
               {"reason", reason},
               {"round", verdict.round()},
               {"phase", verdict.phase()},
               {"address", peer.address}});
}

std::vector<ClientId> Hub::present() const {
  const std::lock_guard lock(mutex_);
  std::vector<ClientId> clients;
  for (const auto& [client, session] : sessions_) {
    clients.push_back(client);
  }
  return clients;
}

std::map<std::uint32_t, double> Hub::heard() const {
  const Clock::time_point now = clock_.now();
  const std::lock_guard lock(mutex_);
  std::map<std::uint32_t, double> ago;
  for (const auto& [client, session] : sessions_) {
    ago[to_index(client)] = std::chrono::duration<double>(now - session->last_heard()).count();
  }
  return ago;
}

std::map<std::uint32_t, std::uint64_t> Hub::refusals() const {
  const std::lock_guard lock(mutex_);
  return refusals_;
}

std::size_t Hub::connections() const {
  const std::lock_guard lock(mutex_);
  return sessions_.size() + strangers_.size() + visitors_.size();
}

void Hub::wait(std::unique_lock<std::mutex>& lock, Clock::time_point until, Waiting waiting) {
  const bool ends = stop_.requested() || (waiting == Waiting::between_rounds && drains());
  require(!ends, ErrorCode::interrupted, "the server was told to stop");
  clock_.wait_until(lock, changed_, until, [this, seen = changes_] { return changes_ != seen; });
}

void Hub::wake() {
  const std::lock_guard lock(mutex_);
  changed();
}

void Hub::changed() {
  changes_ += 1;
  changed_.notify_all();
}

std::vector<ClientId> Hub::await(std::span<const ClientId> wanted, double seconds) {
  const Clock::time_point until = clock_.now() + Clock::seconds(seconds);
  std::unique_lock lock(mutex_);
  for (;;) {
    std::vector<ClientId> there;
    std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(there),
                 [&](ClientId client) { return sessions_.contains(client); });
    const bool all = std::all_of(wanted.begin(), wanted.end(), [&](ClientId client) {
      return sessions_.contains(client) || departed_.contains(client);
    });
    if (all || clock_.now() >= until) {
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
  const Clock::time_point until = clock_.now() + Clock::seconds(seconds);
  std::unique_lock lock(mutex_);
  do {
    wait(lock, until);
  } while (clock_.now() < until);
}

void Hub::tell_tasks(Phase& phase, std::set<std::shared_ptr<Session>>& told) {
  // Sessions are told without the lock: they may report back at once.
  std::vector<std::pair<std::shared_ptr<Session>, ClientId>> tell;
  {
    const std::lock_guard lock(mutex_);
    for (const ClientId client : phase.clients()) {
      const auto session = sessions_.find(client);
      if (session != sessions_.end() && !phase.has_answered(client) && told.insert(session->second).second) {
        phase.asked_again(client);  // still locked: a goodbye comes before it or after it
        tell.emplace_back(session->second, client);
      }
    }
  }
  for (const auto& [session, client] : tell) {
    give(*session, phase.task_of(client));
  }
}

std::string Hub::called(ClientId client) const {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(client);
  return number_and_name(client, found == names_.end() ? "" : found->second);
}

std::string Hub::all_called(std::span<const ClientId> clients) const {
  std::string text = clients.size() == 1 ? "client" : "clients";
  const std::size_t named = std::min(clients.size(), kClientsInALine);
  for (std::size_t i = 0; i < named; ++i) {
    text += fmt::format("{} {}", i == 0 ? "" : ",", called(clients[i]));
  }
  return clients.size() > named ? fmt::format("{} and {} more", text, clients.size() - named) : text;
}

void Hub::hurry(Phase& phase, Clock::time_point now, std::optional<Clock::time_point>& since) {
  const bool is_first = !since;
  since = since.value_or(now);
  if (now - *since >= Clock::seconds(options_.grace_seconds)) {
    const std::lock_guard lock(mutex_);
    for (const ClientId client : phase.awaited()) {
      if (!sessions_.contains(client)) {
        phase.departed(client, "its connection was lost");
      }
    }
  }
  const std::vector<ClientId> awaited = phase.awaited();
  if (!is_first || awaited.empty()) {
    return;
  }
  log::info("round {}: told to stop, but the round waits for {}; a second signal ends it", phase.round(),
            all_called(awaited));
}

void Hub::tell_who_is_awaited(const Phase& phase) {
  const std::vector<ClientId> awaited = phase.awaited();
  std::vector<ClientId> away;
  {
    const std::lock_guard lock(mutex_);
    std::copy_if(awaited.begin(), awaited.end(), std::back_inserter(away),
                 [this](ClientId client) { return !sessions_.contains(client); });
  }
  if (awaited.empty()) {
    return;
  }
  log::info("round {}: {} answers so far; waits for {}{}, for {:.0f} s more at most", phase.round(), phase.answered(),
            all_called(awaited), away.empty() ? "" : fmt::format(" ({} not connected)", away.size()),
            std::chrono::duration<double>(phase.deadline() - clock_.now()).count());
}

void Hub::await_answers(Phase& phase) {
  std::set<std::shared_ptr<Session>> told;
  std::optional<Clock::time_point> hurried;
  Clock::time_point to_tell = clock_.now() + Clock::seconds(options_.dead_seconds);
  while (!phase.is_over(clock_.now())) {
    std::unique_lock lock(mutex_);
    const std::uint64_t seen = changes_;  // what happens from here on ends the wait below, or lets none begin
    lock.unlock();
    tell_tasks(phase, told);  // who comes back meanwhile is asked again
    const Clock::time_point now = clock_.now();
    if (now >= to_tell) {
      tell_who_is_awaited(phase);
      to_tell = Clock::time_point::max();  // once is enough
    }
    if (drains()) {
      hurry(phase, now, hurried);
    }
    lock.lock();
    if (changes_ == seen && !phase.is_over(clock_.now())) {
      Clock::time_point next = std::min(phase.next_end(), to_tell);
      // By the time that `hurry` saw: where the grace ended since, the wait is over at once.
      if (hurried && now < *hurried + Clock::seconds(options_.grace_seconds)) {
        next = std::min(next, *hurried + Clock::seconds(options_.grace_seconds));
      }
      wait(lock, next, Waiting::in_round);
    }
  }
}

void Hub::scale_inputs(InputScales scales) {
  const std::lock_guard lock(mutex_);
  scales_ = std::move(scales);
}

std::map<ClientId, ClientOutcome> Hub::exchange(const Algorithm& algorithm, Round round, int phase,
                                                std::span<const ClientId> participants) {
  const auto under_way = std::make_shared<Phase>(
      algorithm, round, phase, participants,
      Phase::Rules{job_.layout, job_.telemetry, options_.quorum, Clock::seconds(options_.grace_seconds),
                   clock_.now() + Clock::seconds(options_.round_seconds), scales()});
  const auto set_phase = [this](std::shared_ptr<Phase> present) {
    const std::lock_guard lock(mutex_);
    for (const auto& [client, why] : departed_) {
      if (present != nullptr) {
        present->departed(client, why);
      }
    }
    phase_ = std::move(present);
  };
  set_phase(under_way);
  try {
    await_answers(*under_way);
  } catch (...) {
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

InputScales Hub::scales() const {
  const std::lock_guard lock(mutex_);
  return scales_;
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

std::vector<std::shared_ptr<Session>> Hub::all_connections() const {
  const std::lock_guard lock(mutex_);  // one look at all of them: a stranger may become a client meanwhile
  std::vector<std::shared_ptr<Session>> all(strangers_.begin(), strangers_.end());
  for (const auto& [client, session] : sessions_) {
    all.push_back(session);
  }
  for (const auto& [session, since] : visitors_) {
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

std::pair<Round, int> Hub::under_way() const {
  const std::lock_guard lock(mutex_);
  return phase_ == nullptr ? std::pair(0, 0) : std::pair(phase_->round(), phase_->number() + 1);
}

Traffic Hub::traffic() const {
  const std::lock_guard lock(mutex_);
  return traffic_;
}

}  // namespace feroma::net
