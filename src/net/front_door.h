#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/listener.h"
#include "feroma/net/server_options.h"
#include "net/refusals.h"

namespace feroma::net {

/// How many connections are let in. A stranger is one that has not shown yet who it is.
struct DoorLimits {
  int strangers_per_address = 2;  ///< of one IPv4 address, or one IPv6 network of 64 bits
  int strangers = 64;
  int connections = 2100;        ///< strangers included; see connections_for
  int per_certificate = 16;      ///< a client's own, those of its that nobody has missed yet, and its visits
  double stranger_seconds = 10;  ///< how long a connection may stay a stranger
  double idle_seconds = 60;      ///< how long one may have no stream; gRPC ends it then
  const Clock* clock = &Clock::machine();

  /// What a server's options say, for a federation of so many clients.
  [[nodiscard]] static DoorLimits of(const ServerOptions& options, int clients);
  /// As gRPC wants it.
  [[nodiscard]] int idle_milliseconds() const;
  /// Room for every client twice, because one that comes back may be here before its old connection is gone.
  [[nodiscard]] static int connections_for(int clients) { return 2 * clients + 100; }
};

/// What happened at the door since it was opened.
struct DoorCounts {
  std::uint64_t accepted = 0;                    ///< handed over
  std::map<std::string, std::uint64_t> refused;  ///< by reason; every reason is there
  std::size_t open = 0;                          ///< connections now
  std::size_t strangers = 0;                     ///< of these
};

/**
 * Where connections arrive. It listens, turns away what is over the limits or does not offer TLS 1.3, hands the others
 * over, and ends those that do not show within their time who they are. One thread, whatever the number of connections;
 * a connection that is turned away leaves nothing behind. All calls may come from any thread.
 */
class FrontDoor {
 public:
  /// Gets an accepted connection, which is its own from then on. Called by the door's thread.
  using HandOver = std::function<void(int descriptor)>;

  /// Listens at `address`, but lets nobody in yet. With `tls` a connection must begin with a TLS 1.3 hello.
  FrontDoor(const std::string& address, const DoorLimits& limits, bool tls);
  ~FrontDoor();
  FrontDoor(const FrontDoor&) = delete;
  FrontDoor& operator=(const FrontDoor&) = delete;

  [[nodiscard]] int port() const { return port_; }
  /// Lets connections in from now on.
  void open(HandOver hand_over);
  /// Turns everybody away who comes from now on; those who are here may stay.
  void refuse_newcomers(bool refuse = true) { refusing_ = refuse; }
  /// Nothing is handed over after this returns, and nobody listens; connections that were handed over live on.
  void stop();

  /// The connection that gRPC calls `peer` has shown who it is, with a certificate or without. False where that
  /// certificate has too many others already: then it is a stranger still.
  bool authenticated(std::string_view peer, const std::string& certificate = {});
  /// Somebody refused the connection and said so in the log; it has the rest of its time to leave.
  void turned_away(std::string_view peer);
  /// The same for a reason of the door's own, which counts it and writes the line.
  void turned_away(std::string_view peer, Turned reason);
  [[nodiscard]] DoorCounts counts() const;

 private:
  struct Connection {
    Descriptor socket;
    PeerAddress peer;
    Clock::time_point deadline;
    bool handed_over = false;  ///< then `socket` is one of two descriptors of the connection, gRPC has the other
    bool stranger = true;
    bool logged = false;           ///< why it must go
    std::string certificate = {};  ///< fingerprint; empty while it is a stranger, or where there are none
  };
  using Connections = std::map<std::uint64_t, Connection>;

  void run();
  [[nodiscard]] int pause() const;
  void accept_from(const Descriptor& listener);
  void turn_one_away(const Descriptor& listener);
  void admit(Descriptor socket, const PeerAddress& peer);
  /// Needs the lock.
  [[nodiscard]] std::optional<Turned> over_limit(const PeerAddress& peer) const;
  [[nodiscard]] bool is_unexplained(const Connection& connection) const;
  void attend(std::uint64_t id, std::uint32_t events);
  void look_at_hello(Connections::iterator which, bool ended);
  void hand_on(Connections::iterator which);
  void expire();
  /// Forgets a connection and closes the door's own descriptor of it.
  void forget(Connections::iterator which);
  void refuse(Connections::iterator which, Turned reason);
  /// Needs the lock.
  void no_stranger_any_more(Connection& connection, std::uint64_t id);
  void with_connections_of(std::string_view peer, const std::function<void(std::uint64_t, Connection&)>& act);

  const DoorLimits limits_;
  const bool tls_;
  std::vector<Descriptor> listeners_;
  int port_ = 0;
  Descriptor epoll_;
  Descriptor wake_;
  Descriptor spare_;  ///< given up for a moment where there is no other descriptor left
  std::vector<std::byte> hello_;
  HandOver hand_over_;
  Refusals refusals_;
  std::atomic<bool> refusing_ = false;
  std::atomic<bool> stopping_ = false;

  mutable std::mutex mutex_;  ///< guards what follows
  Connections connections_;
  std::set<std::uint64_t> waiting_;  ///< strangers; ids grow, so that the first must go first
  std::multimap<PeerAddress, std::uint64_t> by_peer_;
  std::map<std::array<unsigned char, 16>, int> strangers_of_;
  std::size_t strangers_ = 0;
  std::uint64_t next_id_ = 0;
  std::uint64_t accepted_ = 0;

  std::jthread thread_;  // last: it ends before what it works on
};

}  // namespace feroma::net
