#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct sockaddr_storage;

namespace feroma::net {

/// An open descriptor, closed with the object.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  [[nodiscard]] int get() const { return value_; }
  /// Gives it to somebody else.
  [[nodiscard]] int release() { return std::exchange(value_, -1); }
  [[nodiscard]] explicit operator bool() const { return value_ >= 0; }

 private:
  int value_ = -1;
};

/// Who is at the other end of a connection; IPv4 addresses in their IPv6 form.
struct PeerAddress {
  std::array<unsigned char, 16> host{};
  std::uint16_t port = 0;

  auto operator<=>(const PeerAddress&) const = default;
};

[[nodiscard]] PeerAddress peer_of(const sockaddr_storage& address);
/// Reads what gRPC calls a connection: ipv4:127.0.0.1:43210 or ipv6:%5B::1%5D:43210.
[[nodiscard]] std::optional<PeerAddress> parse_peer(std::string_view text);
/// For people: 127.0.0.1:43210 or [::1]:43210.
[[nodiscard]] std::string text_of(const PeerAddress& peer);
/// The part of an address that one machine or household has for itself: all of an IPv4 address, half of an IPv6 one.
[[nodiscard]] std::array<unsigned char, 16> network_of(const PeerAddress& peer);

/// Sockets that listen at an address like 127.0.0.1:7443, [::1]:7443, localhost:7443 (every address of a name) or
/// [::]:7443 (every address there is); port 0 takes a free one. They do not block, and what they accept inherits their
/// settings: small frames are sent at once, and a peer that vanished is noticed within a minute.
[[nodiscard]] std::vector<Descriptor> listen_at(const std::string& address);
[[nodiscard]] int port_of(const Descriptor& listener);

}  // namespace feroma::net
