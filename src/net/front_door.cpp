#include "net/front_door.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "feroma/core/error.h"
#include "feroma/core/log.h"
#include "net/client_hello.h"

namespace feroma::net {
namespace {

/// Connections accepted in a row before others are attended to.
constexpr int kAcceptedInARow = 64;
constexpr std::uint32_t kNewsAlone = EPOLLET;
/// What an epoll event belongs to; connections come after these.
constexpr std::uint64_t kWake = 0;
constexpr std::uint64_t kFirstListener = 1;
constexpr std::uint64_t kFirstConnection = 1000;

/// Closes a connection so that nothing of it stays in the system's tables either.
void reset(Descriptor socket) {
  const linger now{1, 0};
  static_cast<void>(::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now)));
}

/// Tells a client that its versions of TLS are too old. What it said must be read first: closing a socket with
/// something unread in it would take the alert back.
void send_alert(const Descriptor& socket, std::span<std::byte> said) {
  constexpr std::array<unsigned char, 7> kProtocolVersion{21, 3, 1, 0, 2, /*fatal*/ 2, 70};
  static_cast<void>(::recv(socket.get(), said.data(), said.size(), MSG_DONTWAIT));
  static_cast<void>(
      ::send(socket.get(), kProtocolVersion.data(), kProtocolVersion.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
}

Descriptor made(int descriptor, std::string_view what) {
  require(descriptor >= 0, ErrorCode::io, "cannot make {}: {}", what, std::strerror(errno));
  return Descriptor(descriptor);
}

Descriptor open_spare() { return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

[[nodiscard]] bool watch(const Descriptor& epoll, int operation, const Descriptor& what, std::uint64_t id,
                         std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  return ::epoll_ctl(epoll.get(), operation, what.get(), &event) == 0;
}

}  // namespace

DoorLimits DoorLimits::of(const ServerOptions& options, int clients) {
  DoorLimits limits;
  limits.strangers_per_address = options.strangers_per_address;
  limits.strangers = options.strangers;
  limits.connections = options.connections > 0 ? options.connections : connections_for(clients);
  limits.stranger_seconds = options.stranger_seconds;
  limits.idle_seconds = options.dead_seconds;
  limits.clock = options.clock;
  return limits;
}

int DoorLimits::idle_milliseconds() const {
  const std::chrono::duration<double, std::milli> time = clock->real(Clock::seconds(idle_seconds));
  return static_cast<int>(std::clamp(time.count(), 1.0, double{std::numeric_limits<int>::max()}));
}

FrontDoor::FrontDoor(const std::string& address, const DoorLimits& limits, bool tls)
    : limits_(limits),
      tls_(tls),
      listeners_(listen_at(address)),
      port_(port_of(listeners_.front())),
      epoll_(made(::epoll_create1(EPOLL_CLOEXEC), "a poller")),
      wake_(made(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "a poller")),
      spare_(open_spare()),
      hello_(tls ? kLargestHello : 0),
      refusals_(*limits.clock),
      next_id_(kFirstConnection) {
  require(limits.strangers_per_address >= 1 && limits.strangers >= 1 && limits.connections >= 1 &&
              limits.stranger_seconds > 0,
          ErrorCode::invalid_config, "limits on connections must be above 0, got {}, {}, {} and {} seconds",
          limits.strangers_per_address, limits.strangers, limits.connections, limits.stranger_seconds);
}

FrontDoor::~FrontDoor() { stop(); }

void FrontDoor::open(HandOver hand_over) {
  hand_over_ = std::move(hand_over);
  bool watched = watch(epoll_, EPOLL_CTL_ADD, wake_, kWake, EPOLLIN);
  for (std::size_t i = 0; i < listeners_.size(); ++i) {
    watched = watched && watch(epoll_, EPOLL_CTL_ADD, listeners_[i], kFirstListener + i, EPOLLIN);
  }
  require(watched, ErrorCode::io, "cannot wait for connections: {}", std::strerror(errno));
  thread_ = std::jthread([this] { run(); });
}

void FrontDoor::stop() {
  stopping_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof(one));  // the counter cannot be full
  if (thread_.joinable()) {
    thread_.join();
  }
  const std::lock_guard lock(mutex_);
  listeners_.clear();
  connections_.clear();
  by_peer_.clear();
  waiting_.clear();
  strangers_of_.clear();
  strangers_ = 0;
}

void FrontDoor::run() {
  std::array<epoll_event, 64> events{};
  while (!stopping_) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), pause());
    for (int i = 0; i < count && !stopping_; ++i) {
      const epoll_event& event = events.at(static_cast<std::size_t>(i));
      if (event.data.u64 >= kFirstConnection) {
        attend(event.data.u64, event.events);
      } else if (event.data.u64 >= kFirstListener) {
        accept_from(listeners_[event.data.u64 - kFirstListener]);
      }
    }
    expire();
    refusals_.write_held_back();
  }
}

/// Milliseconds until somebody's time is over or a line is due; -1: nothing but an event matters.
int FrontDoor::pause() const {
  const std::lock_guard lock(mutex_);
  Clock::time_point next = refusals_.next_line();
  if (!waiting_.empty()) {
    next = std::min(next, connections_.at(*waiting_.begin()).deadline);
  }
  if (next == Clock::time_point::max()) {
    return -1;
  }
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(limits_.clock->real(next - limits_.clock->now())).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

void FrontDoor::accept_from(const Descriptor& listener) {
  for (int i = 0; i < kAcceptedInARow; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    Descriptor socket(
        ::accept4(listener.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      admit(std::move(socket), peer_of(address));
    } else if (errno == EMFILE || errno == ENFILE) {
      turn_one_away(listener);
      return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return;
    }
  }
}

/// Whoever waits while no descriptor is left must be turned away, or the listener would never be quiet again.
void FrontDoor::turn_one_away(const Descriptor& listener) {
  spare_ = Descriptor();
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  const bool accepted = static_cast<bool>(Descriptor(
      ::accept4(listener.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC)));
  spare_ = open_spare();
  if (accepted) {
    refusals_.note(Turned::descriptors, peer_of(address));
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // somebody else was faster to take it
  }
}

std::optional<Turned> FrontDoor::over_limit(const PeerAddress& peer) const {
  if (refusing_) {
    return Turned::closed;
  }
  if (connections_.size() >= static_cast<std::size_t>(limits_.connections)) {
    return Turned::connection_limit;
  }
  const auto of_address = strangers_of_.find(network_of(peer));
  if (of_address != strangers_of_.end() && of_address->second >= limits_.strangers_per_address) {
    return Turned::address_limit;
  }
  return strangers_ >= static_cast<std::size_t>(limits_.strangers) ? std::optional(Turned::stranger_limit)
                                                                   : std::nullopt;
}

void FrontDoor::admit(Descriptor socket, const PeerAddress& peer) {
  std::unique_lock lock(mutex_);
  if (const std::optional<Turned> reason = over_limit(peer)) {
    lock.unlock();
    reset(std::move(socket));
    refusals_.note(*reason, peer);
    return;
  }
  const std::uint64_t id = next_id_++;
  const Clock::time_point deadline = limits_.clock->now() + Clock::seconds(limits_.stranger_seconds);
  const auto which = connections_.emplace_hint(connections_.end(), id, Connection{std::move(socket), peer, deadline});
  by_peer_.emplace(peer, id);
  waiting_.insert(id);
  strangers_of_[network_of(peer)] += 1;
  strangers_ += 1;
  lock.unlock();
  // Told of what is new alone: a hello stays in its socket after it was looked at. One that is there already is new.
  if (!watch(epoll_, EPOLL_CTL_ADD, which->second.socket, id, EPOLLIN | EPOLLRDHUP | kNewsAlone)) {
    refuse(which, Turned::descriptors);
  } else if (!tls_) {
    hand_on(which);
  }
}

// Only the door's thread adds and removes connections, so that its iterators stay good without the lock.
void FrontDoor::attend(std::uint64_t id, std::uint32_t events) {
  const auto which = connections_.find(id);
  if (which == connections_.end()) {
    return;
  }
  if (!which->second.handed_over) {
    look_at_hello(which, (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0);
  } else if ((events & EPOLLHUP) != 0) {
    // Both directions are over: the peer is gone, or gRPC has ended the connection.
    if (is_unexplained(which->second)) {
      refuse(which, Turned::left);
    } else {
      forget(which);
    }
  }
}

bool FrontDoor::is_unexplained(const Connection& connection) const {
  const std::lock_guard lock(mutex_);
  return connection.stranger && !connection.logged;
}

void FrontDoor::look_at_hello(Connections::iterator which, bool ended) {
  const Descriptor& socket = which->second.socket;
  const ssize_t count = ::recv(socket.get(), hello_.data(), hello_.size(), MSG_PEEK | MSG_DONTWAIT);
  if (count <= 0) {
    if (ended || count == 0 || (errno != EAGAIN && errno != EINTR)) {
      refuse(which, Turned::gone);
    }
    return;
  }
  const std::span<std::byte> said(hello_.data(), static_cast<std::size_t>(count));
  switch (inspect_client_hello(said)) {
    case HelloVerdict::need_more:
      if (ended) {
        refuse(which, Turned::gone);
      }
      return;
    case HelloVerdict::tls13: hand_on(which); return;
    case HelloVerdict::older:
      send_alert(socket, said);
      refuse(which, Turned::older_tls);
      return;
    case HelloVerdict::not_tls: refuse(which, Turned::not_tls); return;
    case HelloVerdict::malformed: refuse(which, Turned::malformed_hello); return;
  }
}

void FrontDoor::hand_on(Connections::iterator which) {
  Connection& connection = which->second;
  Descriptor other(::fcntl(connection.socket.get(), F_DUPFD_CLOEXEC, 0));
  // From now on somebody else reads, and only the end is of interest: it is always told.
  if (!other || !watch(epoll_, EPOLL_CTL_MOD, connection.socket, which->first, kNewsAlone)) {
    refuse(which, Turned::descriptors);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    connection.handed_over = true;
    accepted_ += 1;
  }
  hand_over_(other.release());
}

void FrontDoor::expire() {
  const Clock::time_point now = limits_.clock->now();
  for (;;) {
    std::unique_lock lock(mutex_);
    if (waiting_.empty()) {
      return;
    }
    const auto which = connections_.find(*waiting_.begin());
    Connection& connection = which->second;
    if (connection.deadline > now) {
      return;
    }
    waiting_.erase(waiting_.begin());
    const bool explained = std::exchange(connection.logged, true);
    lock.unlock();
    if (!connection.handed_over) {
      refuse(which, Turned::too_slow);
      continue;
    }
    if (!explained) {
      refusals_.note(Turned::too_slow, connection.peer);
    }
    // gRPC sees the end and closes its descriptor; the event that this makes closes ours.
    ::shutdown(connection.socket.get(), SHUT_RDWR);
  }
}

void FrontDoor::no_stranger_any_more(Connection& connection, std::uint64_t id) {
  if (!std::exchange(connection.stranger, false)) {
    return;
  }
  waiting_.erase(id);
  strangers_ -= 1;
  const auto of_address = strangers_of_.find(network_of(connection.peer));
  if (--of_address->second == 0) {
    strangers_of_.erase(of_address);
  }
}

void FrontDoor::forget(Connections::iterator which) {
  // gRPC may still have the other descriptor, so that closing ours would not end the watch.
  static_cast<void>(::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, which->second.socket.get(), nullptr));
  const std::lock_guard lock(mutex_);
  no_stranger_any_more(which->second, which->first);
  const auto [begin, end] = by_peer_.equal_range(which->second.peer);
  by_peer_.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == which->first; }));
  connections_.erase(which);
}

void FrontDoor::refuse(Connections::iterator which, Turned reason) {
  const PeerAddress peer = which->second.peer;
  forget(which);
  refusals_.note(reason, peer);
}

void FrontDoor::with_connections_of(std::string_view peer, const std::function<void(std::uint64_t, Connection&)>& act) {
  const std::optional<PeerAddress> address = parse_peer(peer);
  if (!address) {
    return;
  }
  const std::lock_guard lock(mutex_);
  // There are two where the same port of a peer was used again before we saw the end of the first connection.
  const auto [begin, end] = by_peer_.equal_range(*address);
  std::for_each(begin, end, [&](const auto& entry) { act(entry.second, connections_.at(entry.second)); });
}

bool FrontDoor::authenticated(std::string_view peer, const std::string& certificate) {
  bool let_in = true;
  with_connections_of(peer, [&](std::uint64_t id, Connection& connection) {
    const auto others = std::count_if(connections_.begin(), connections_.end(), [&](const auto& entry) {
      return entry.first != id && entry.second.certificate == certificate;
    });
    if (!certificate.empty() && others >= limits_.per_certificate) {
      let_in = false;
      return;
    }
    connection.certificate = certificate;
    no_stranger_any_more(connection, id);
  });
  return let_in;
}

void FrontDoor::turned_away(std::string_view peer) {
  with_connections_of(peer, [](std::uint64_t, Connection& connection) { connection.logged = true; });
}

void FrontDoor::turned_away(std::string_view peer, Turned reason) {
  turned_away(peer);
  refusals_.note(reason, parse_peer(peer).value_or(PeerAddress{}));
}

DoorCounts FrontDoor::counts() const {
  const std::lock_guard lock(mutex_);
  return {accepted_, refusals_.counts(), connections_.size(), strangers_};
}

}  // namespace feroma::net
