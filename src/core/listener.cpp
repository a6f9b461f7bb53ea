#include "core/listener.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "feroma/core/error.h"
#include "feroma/core/number.h"

namespace feroma::net {
namespace {

constexpr int kBacklog = 1024;
/// A peer that does not answer for a minute is gone: asked after half of it, then every ten seconds.
constexpr int kIdleSeconds = 30;
constexpr int kProbeSeconds = 10;
constexpr int kProbes = 3;
constexpr int kUnansweredMilliseconds = 60'000;
constexpr std::size_t kMappedPrefix = 12;  ///< bytes before the four of an IPv4 address

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

struct HostAndPort {
  std::string host;
  std::string port;
};

HostAndPort split(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  require(
      colon != std::string::npos && parse_number<std::uint16_t>(std::string_view(address).substr(colon + 1)) &&
          !host.empty() && (bracketed || host.find(':') == std::string::npos),
      ErrorCode::invalid_config,
      "an address must be HOST:PORT with a port up to 65535, like 127.0.0.1:7443, [::1]:7443 or name:7443, got \"{}\"",
      address);
  return {bracketed ? host.substr(1, host.size() - 2) : std::move(host), address.substr(colon + 1)};
}

void set(const Descriptor& socket, int level, int option, int value) {
  // None of these is needed for the socket to work, and each is known to every Linux that runs this.
  static_cast<void>(::setsockopt(socket.get(), level, option, &value, sizeof(value)));
}

/// Listens at one address; an empty result, with errno, where that cannot be.
Descriptor listen_at(const addrinfo& where, bool every_address) {
  Descriptor socket(::socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) {
    return socket;
  }
  set(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  if (where.ai_family == AF_INET6) {
    set(socket, IPPROTO_IPV6, IPV6_V6ONLY, every_address ? 0 : 1);
  }
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnansweredMilliseconds);
  if (::bind(socket.get(), where.ai_addr, where.ai_addrlen) < 0 || ::listen(socket.get(), kBacklog) < 0) {
    return {};
  }
  return socket;
}

void set_port(addrinfo& where, int port) {
  const auto value = htons(static_cast<std::uint16_t>(port));
  if (where.ai_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(where.ai_addr)->sin6_port = value;
  } else {
    reinterpret_cast<sockaddr_in*>(where.ai_addr)->sin_port = value;
  }
}

bool is_mapped(const PeerAddress& peer) {
  const auto* ones = peer.host.data() + kMappedPrefix - 2;
  return std::all_of(peer.host.data(), ones, [](unsigned char c) { return c == 0; }) && ones[0] == 0xff &&
         ones[1] == 0xff;
}

void map(PeerAddress& peer) { peer.host[kMappedPrefix - 2] = peer.host[kMappedPrefix - 1] = 0xff; }

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}

Descriptor::~Descriptor() {
  if (value_ >= 0) {
    const int kept = errno;  // whoever asks why something failed means something else
    ::close(value_);
    errno = kept;
  }
}

PeerAddress peer_of(const sockaddr_storage& address) {
  PeerAddress peer;
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &address, sizeof(six));
    std::memcpy(peer.host.data(), &six.sin6_addr, peer.host.size());
    peer.port = ntohs(six.sin6_port);
  } else if (address.ss_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &address, sizeof(four));
    map(peer);
    std::memcpy(peer.host.data() + kMappedPrefix, &four.sin_addr, sizeof(four.sin_addr));
    peer.port = ntohs(four.sin_port);
  }
  return peer;
}

std::optional<PeerAddress> parse_peer(std::string_view text) {
  const bool four = text.starts_with("ipv4:");
  const std::size_t colon = text.rfind(':');
  if ((!four && !text.starts_with("ipv6:")) || colon <= 4) {
    return std::nullopt;
  }
  const std::optional<std::uint16_t> port = parse_number<std::uint16_t>(text.substr(colon + 1));
  std::string host(text.substr(5, colon - 5));
  for (const std::string_view bracket : {"%5B", "%5D", "[", "]"}) {
    const std::size_t found = host.find(bracket);
    if (found != std::string::npos) {
      host.erase(found, bracket.size());
    }
  }
  host.resize(std::min(host.size(), host.find('%')));  // a link's number says nothing about who is there
  PeerAddress peer;
  if (four) {
    map(peer);
  }
  unsigned char* bytes = peer.host.data() + (four ? kMappedPrefix : 0);
  if (!port || ::inet_pton(four ? AF_INET : AF_INET6, host.c_str(), bytes) != 1) {
    return std::nullopt;
  }
  peer.port = *port;
  return peer;
}

std::string text_of(const PeerAddress& peer) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool four = is_mapped(peer);
  ::inet_ntop(four ? AF_INET : AF_INET6, peer.host.data() + (four ? kMappedPrefix : 0), text.data(), text.size());
  return four ? fmt::format("{}:{}", text.data(), peer.port) : fmt::format("[{}]:{}", text.data(), peer.port);
}

std::array<unsigned char, 16> network_of(const PeerAddress& peer) {
  std::array<unsigned char, 16> network = peer.host;
  if (!is_mapped(peer)) {
    std::fill(network.begin() + network.size() / 2, network.end(), static_cast<unsigned char>(0));
  }
  return network;
}

std::vector<Descriptor> listen_at(const std::string& address) {
  const HostAndPort where = split(address);
  addrinfo wanted{};
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(where.host.c_str(), where.port.c_str(), &wanted, &found);
  const std::unique_ptr<addrinfo, FreeAddresses> owned(found);
  require(error == 0, ErrorCode::invalid_config, "cannot listen at {}: {}", address, ::gai_strerror(error));
  std::vector<Descriptor> listeners;
  std::set<PeerAddress> seen;
  int last = 0;
  for (addrinfo* one = found; one != nullptr; one = one->ai_next) {
    sockaddr_storage storage{};
    std::memcpy(&storage, one->ai_addr, std::min<std::size_t>(one->ai_addrlen, sizeof(storage)));
    if (!seen.insert(peer_of(storage)).second) {
      continue;  // a name may be said to have the same address twice
    }
    if (!listeners.empty()) {
      set_port(*one, port_of(listeners.front()));  // where any port will do, it is the same one everywhere
    }
    Descriptor listener = listen_at(*one, where.host == "::");
    if (listener) {
      listeners.push_back(std::move(listener));
      continue;
    }
    last = errno;
    // A name may have an address of a kind that this machine does without.
    require(last == EADDRNOTAVAIL || last == EAFNOSUPPORT, ErrorCode::io, "cannot listen at {}: {}", address,
            std::strerror(last));
  }
  require(!listeners.empty(), ErrorCode::io, "cannot listen at {}: {}", address, std::strerror(last));
  return listeners;
}

int port_of(const Descriptor& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  require(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0, ErrorCode::io,
          "cannot tell where a socket listens: {}", std::strerror(errno));
  return peer_of(address).port;
}

}  // namespace feroma::net
