// How clients and visitors come to a hub, and how they go.
#include <algorithm>

#include "feroma/core/error.h"
#include "feroma/core/fault_point.h"
#include "feroma/core/log.h"
#include "feroma/net/codec.h"
#include "net/hub.h"
#include "net/nonce.h"
#include "net/peer_log.h"

namespace feroma::net {
namespace {

/// Of one certificate. Each keeps what it was asked until it is served or its time is over.
constexpr std::ptrdiff_t kVisitsAtATime = 4;
/// Seconds after which somebody with more of them should come again.
constexpr double kVisitPause = 5;

}  // namespace

std::shared_ptr<Session> Hub::connect(Peer peer, std::function<void()> wake) {
  auto session = std::make_shared<Session>(
      *this, std::move(peer), Session::Limits{largest_, TransferPace::of(options_)}, make_nonce(), std::move(wake));
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
    throw Refusal{
        v1::OTHER_JOB,
        "this client has worked for another federation; move client.state out of its folder and leave the rest there"};
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
  welcome.set_heartbeat_seconds(options_.heartbeat_seconds);
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
    receive_visitor(session, hello.visit());
    return;
  }
  const ClientId client = identity(*session, hello);
  v1::Welcome welcome = welcome_to(to_index(client));
  if (const auto counted = past_.counted.find(client); counted != past_.counted.end()) {
    welcome.mutable_counted()->set_round(counted->second.round);
    welcome.mutable_counted()->set_phases(counted->second.phases);
  }
  tell_released(*session, client, welcome);
  known_.insert(client);
  if (!session->peer().name.empty()) {
    names_[client] = session->peer().name;
  }
  lock.unlock();
  session->identify(client, Origin::of(hello));
  // Once others can see the session they may give it a task, which must not overtake the welcome, nor the news of a
  // round that was finished meanwhile.
  session->welcome(welcome);
  fault_point("hub.welcomed");
  lock.lock();
  catch_up(lock, *session, client, welcome.committed());
  if (session->has_its_end()) {
    return;  // it was sent away while it was welcomed, and is a stranger until it has left
  }
  const auto here = sessions_.find(client);
  if (here != sessions_.end() && here->second->origin().follows(session->origin())) {
    // What a process said on a connection that it gave up may be read after what it said on the next.
    throw Refusal{v1::TWICE, "the same process has come again since", 1};
  }
  if (!hello.remembers()) {
    forgetful_.insert(client);
  }
  strangers_.erase(session);
  departed_.erase(client);
  const std::shared_ptr<Session> old = std::exchange(sessions_[client], session);
  if (old != nullptr) {
    strangers_.insert(old);  // until it has left, or is too slow to
  }
  const bool finished = finished_;
  lock.unlock();
  fault_point("hub.admitted");
  if (comings_.allows("clients joined")) {
    const std::string software = printable(hello.software());
    const Peer& peer = session->peer();
    write_about(peer, log::Severity::info,
                fmt::format("client {} joined from {}", number_and_name(client, peer.name), peer.address),
                {{"client", to_index(client)}, {"address", peer.address}, {"software", software}});
  }
  if (old != nullptr) {
    // A client that comes back before its old connection was missed, or two that have the same key.
    const Refusal twice{v1::TWICE, "the same client came again", 0};
    if (old->close(twice)) {
      refused(*old, {twice.reason, fmt::format("it came again from {}", session->peer().address), 0});
    }
  }
  if (finished) {
    say_finished({session});
  }
  wake();
}

void Hub::catch_up(std::unique_lock<std::mutex>& lock, Session& session, ClientId client, Round told) {
  while (told != past_.committed) {
    told = past_.committed;
    const auto counted = past_.counted.find(client);
    const int phases = counted != past_.counted.end() && counted->second.round == told ? counted->second.phases : 0;
    lock.unlock();
    session.tell_committed(told, phases);
    lock.lock();
  }
}

void Hub::depart(ClientId client, const std::string& why) {
  departed_[client] = why;
  if (const auto found = sessions_.find(client); found != sessions_.end()) {
    strangers_.insert(found->second);  // until it has left, or is too slow to
    sessions_.erase(found);
  }
  if (phase_ != nullptr) {
    phase_->departed(client, why);
  }
  changed();
}

void Hub::said_goodbye(Session& session, const std::string& why) {
  const std::optional<ClientId> client = session.client();
  {
    const std::lock_guard lock(mutex_);
    const auto found = client ? sessions_.find(*client) : sessions_.end();
    if (found == sessions_.end() || found->second.get() != &session) {
      return;
    }
    depart(*client, why.empty() ? "it said goodbye" : fmt::format("it left: {}", why));
  }
  if (comings_.allows("clients left")) {
    const Peer& peer = session.peer();
    write_about(
        peer, why.empty() ? log::Severity::info : log::Severity::warning,
        fmt::format("client {} said goodbye{}{}", number_and_name(*client, peer.name), why.empty() ? "" : ": ", why),
        {{"client", to_index(*client)}, {"address", peer.address}});
  }
}

void Hub::left(Session& session) {
  fault_point("hub.left");
  std::optional<ClientId> gone;
  {
    const std::lock_guard lock(mutex_);
    strangers_.erase(session.shared_from_this());
    visitors_.erase(session.shared_from_this());
    desk_.left(session);
    const std::optional<ClientId> client = session.client();
    const auto found = client ? sessions_.find(*client) : sessions_.end();
    if (found != sessions_.end() && found->second.get() == &session) {
      sessions_.erase(found);
      gone = comings_.allows("clients left") ? client : std::nullopt;
    }
    changed();  // still locked: whoever sees that the last one left may end the hub
  }
  if (gone) {
    const Peer& peer = session.peer();
    write_about(peer, log::Severity::info, fmt::format("client {} left", number_and_name(*gone, peer.name)),
                {{"client", to_index(*gone)}, {"address", peer.address}});
  }
}

void Hub::refused(const Session& session, const Refusal& refusal) {
  count_and_write(session.peer(), session.client(), refusal);
}

void Hub::turned_away(const Peer& peer, const Refusal& refusal) { count_and_write(peer, peer.id, refusal); }

void Hub::count_and_write(const Peer& peer, std::optional<ClientId> client, const Refusal& refusal) {
  {
    const std::lock_guard lock(mutex_);
    tally(refusal.reason, client);
  }
  // Whoever asks for a model before there is one does nothing wrong.
  const bool is_early = refusal.reason == v1::LATE;
  const std::string& reason = v1::Reason_Name(refusal.reason);
  if (!(is_early ? comings_ : complaints_).allows(fmt::format("refused ({})", reason))) {
    return;
  }
  const std::string text = printable(refusal.text);
  std::string who = peer.address;
  std::vector<log::Field> fields{{"address", peer.address}, {"reason", reason}};
  if (client) {
    who += fmt::format(": client {}", number_and_name(*client, peer.name));
    fields.emplace_back("client", to_index(*client));
  } else if (!peer.name.empty()) {
    who += fmt::format(": {}", peer.name);
  }
  write_about(peer, is_early ? log::Severity::info : log::Severity::warning,
              fmt::format("{}: refused ({}): {}", who, reason, text), std::move(fields));
}

void Hub::refused_beside_others() {
  const std::lock_guard lock(mutex_);
  traffic_.outliers += 1;
}

void Hub::receive_visitor(const std::shared_ptr<Session>& session, const v1::Visit& visit) {
  fault_point("hub.visitor_asked");
  v1::Welcome welcome;
  {
    const std::lock_guard lock(mutex_);
    check_visits(*session);
    welcome = welcome_to(0);
    tell_released(*session, std::nullopt, welcome);
    strangers_.erase(session);
    visitors_.emplace(session, clock_.now());
  }
  Assignment question = desk_.ask(*session, visit, welcome.committed(), scales());
  session->welcome(welcome);
  give(*session, std::move(question));
}

void Hub::write_served(const Peer& peer, Round round) {
  if (comings_.allows("visitors served")) {
    const std::string who = peer.name.empty() ? "a visitor" : "visitor " + peer.name;
    write_about(peer, log::Severity::info,
                fmt::format("{} from {} was served from the models of round {}", who, peer.address, round),
                {{"address", peer.address}, {"round", round}});
  }
}

void Hub::check_visits(const Session& session) const {
  const std::string& certificate = session.peer().fingerprint;
  const auto here = std::count_if(visitors_.begin(), visitors_.end(), [&](const auto& visitor) {
    return visitor.first->peer().fingerprint == certificate;
  });
  if (!certificate.empty() && here >= kVisitsAtATime) {
    throw Refusal{v1::TWICE, fmt::format("{} visits with this certificate are under way", here), kVisitPause};
  }
}

void Hub::say_finished(const std::vector<std::shared_ptr<Session>>& sessions) {
  for (const auto& session : sessions) {
    const bool hears_it = session->close({v1::FINISHED, "all rounds are done", 0});
    fault_point("hub.goodbye_said");
    const std::lock_guard lock(mutex_);
    if (hears_it) {
      told_.insert(session->client().value());
      changed();
    }
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
  const Clock::time_point until = clock_.now() + Clock::seconds(seconds);
  std::unique_lock lock(mutex_);
  const auto all_told = [this] {
    return std::all_of(known_.begin(), known_.end(),
                       [this](ClientId client) { return told_.contains(client) || shut_out_.contains(client); });
  };
  // Those who were told are still there until they have read it.
  while ((!all_told() || !sessions_.empty()) && clock_.now() < until) {
    wait(lock, until);
  }
}

void Hub::dismiss(const Refusal& refusal) {
  for (const auto& session : all_connections()) {
    session->close(refusal);
  }
}

void Hub::send_away(const std::function<bool(const Peer& peer)>& unwanted, const Refusal& refusal) {
  for (const auto& session : all_connections()) {
    const Peer& peer = session->peer();
    if (!unwanted(peer)) {
      continue;
    }
    const std::optional<ClientId> client = session->client();
    const bool was_open = session->close(refusal);
    if (was_open) {
      std::vector<log::Field> fields{{"address", peer.address}, {"reason", v1::Reason_Name(refusal.reason)}};
      if (client) {
        fields.emplace_back("client", to_index(*client));
      }
      write_about(peer, log::Severity::warning,
                  fmt::format("{}: {} is sent away: {}", peer.address, peer.name, refusal.text), std::move(fields));
    }
    const std::lock_guard lock(mutex_);
    traffic_.verdicts[refusal.reason] += was_open ? 1 : 0;
    const auto found = client ? sessions_.find(*client) : sessions_.end();
    if (found != sessions_.end() && found->second == session) {
      depart(*client, refusal.text);
    }
  }
}

void Hub::shut_out(const std::set<ClientId>& clients, const std::string& why) {
  const std::lock_guard lock(mutex_);
  shut_out_ = clients;
  for (const ClientId client : clients) {
    if (!sessions_.contains(client)) {
      depart(client, why);
    }
  }
  changed();
}

void Hub::sever() {
  for (const auto& session : everybody()) {
    session->abort({v1::SHUTTING_DOWN, "", 1});
  }
}

void Hub::sweep() {
  const Clock::time_point now = clock_.now();
  std::vector<std::shared_ptr<Session>> gone;
  {
    const std::lock_guard lock(mutex_);
    const auto is_gone = [&](const std::shared_ptr<Session>& session) {
      return now - session->last_heard() > Clock::seconds(options_.dead_seconds) || session->overdue(now);
    };
    for (const auto& [client, session] : sessions_) {
      if (is_gone(session)) {
        gone.push_back(session);
      }
    }
    std::copy_if(strangers_.begin(), strangers_.end(), std::back_inserter(gone), is_gone);
    for (const auto& [session, since] : visitors_) {
      // They are silent while they describe their data; a visit takes no longer than an exchange.
      if (now - since > Clock::seconds(options_.round_seconds) || session->overdue(now)) {
        gone.push_back(session);
      }
    }
  }
  for (const auto& session : gone) {
    const Refusal refusal{v1::TOO_SLOW, "not heard, or too slow", 0.5};
    if (session->abort(refusal)) {
      refused(*session, refusal);
    }
  }
  for (const auto& [severity, lines] :
       {std::pair(log::Severity::warning, &complaints_), std::pair(log::Severity::info, &comings_)}) {
    for (const auto& [what, count] : lines->take_held_back()) {
      log::write(severity, fmt::format("{} more {}", count, what), {{"count", count}});
    }
  }
}

}  // namespace feroma::net
