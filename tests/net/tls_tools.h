#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/listener.h"

namespace feroma::net::test {

using HelloBytes = std::vector<std::byte>;

/// Of this process.
inline std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

struct FreeTls {
  void operator()(SSL_CTX* object) const { SSL_CTX_free(object); }
  void operator()(SSL* object) const { SSL_free(object); }
  void operator()(BIO* object) const { BIO_free(object); }
};
template <class Object>
using OwnedTls = std::unique_ptr<Object, FreeTls>;

/// A client's context for these versions alone; old ones need OpenSSL's guards taken down.
inline OwnedTls<SSL_CTX> tls_client_context(int oldest, int newest) {
  OwnedTls<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_security_level(context.get(), 0);
  EXPECT_EQ(SSL_CTX_set_cipher_list(context.get(), "ALL:@SECLEVEL=0"), 1);
  EXPECT_EQ(SSL_CTX_set_min_proto_version(context.get(), oldest), 1);
  EXPECT_EQ(SSL_CTX_set_max_proto_version(context.get(), newest), 1);
  return context;
}

/// What OpenSSL's own client says first.
inline HelloBytes hello_of(int oldest, int newest) {
  const OwnedTls<SSL_CTX> context = tls_client_context(oldest, newest);
  const OwnedTls<SSL> client(SSL_new(context.get()));
  BIO* inner = nullptr;
  BIO* outer = nullptr;
  EXPECT_EQ(BIO_new_bio_pair(&inner, 0, &outer, 0), 1);
  const OwnedTls<BIO> owned(outer);
  SSL_set_bio(client.get(), inner, inner);
  EXPECT_LT(SSL_connect(client.get()), 0) << "nobody answers";
  HelloBytes hello(BIO_ctrl_pending(outer));
  EXPECT_EQ(BIO_read(outer, hello.data(), static_cast<int>(hello.size())), static_cast<int>(hello.size()));
  EXPECT_GT(hello.size(), 50U);
  ERR_clear_error();
  return hello;
}

/// The same hello in records of at most `most` bytes each.
inline HelloBytes in_records_of(std::size_t most, const HelloBytes& hello) {
  constexpr std::size_t kHeader = 5;
  HelloBytes pieces;
  for (std::size_t begin = kHeader; begin < hello.size(); begin += most) {
    const std::size_t count = std::min(most, hello.size() - begin);
    pieces.insert(pieces.end(), hello.begin(), hello.begin() + 3);
    pieces.push_back(static_cast<std::byte>(count >> 8));
    pieces.push_back(static_cast<std::byte>(count & 0xff));
    const auto from = hello.begin() + static_cast<std::ptrdiff_t>(begin);
    pieces.insert(pieces.end(), from, from + static_cast<std::ptrdiff_t>(count));
  }
  return pieces;
}

/// Waits until something is so, for some seconds.
template <class Condition>
bool eventually(Condition condition, double seconds = 20) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

/// A connection to this machine without anything around it.
class RawConnection {
 public:
  /// `source`: one of the machine's own addresses; all of 127.0.0.0/8 are.
  explicit RawConnection(int port, const char* source = "127.0.0.1") {
    socket_ = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    EXPECT_EQ(::inet_pton(AF_INET, source, &address.sin_addr), 1);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    EXPECT_EQ(::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr), 1);
    connected_ = ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }

  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] int get() const { return socket_.get(); }
  bool say(std::span<const std::byte> bytes) {
    return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  bool say(std::string_view text) { return say(std::as_bytes(std::span(text))); }
  /// What the other side says before it ends the connection; fails where it does not within some seconds.
  std::string until_closed(int seconds = 20) {
    std::string heard;
    for (;;) {
      pollfd wait{socket_.get(), POLLIN, 0};
      if (::poll(&wait, 1, seconds * 1000) != 1) {
        ADD_FAILURE() << "the connection was not ended";
        return heard;
      }
      char buffer[256];
      const ssize_t count = ::recv(socket_.get(), buffer, sizeof(buffer), 0);
      if (count <= 0) {
        return heard;
      }
      heard.append(buffer, static_cast<std::size_t>(count));
    }
  }
  /// Whether nothing has been said and nobody has left.
  [[nodiscard]] bool is_quiet() const {
    pollfd wait{socket_.get(), POLLIN, 0};
    return ::poll(&wait, 1, 0) == 0;
  }
  /// As the server's gRPC calls this connection.
  [[nodiscard]] std::string name() const {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    EXPECT_EQ(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    return "ipv4:" + text_of(peer_of(address));
  }
  void close() { socket_ = Descriptor(); }

 private:
  Descriptor socket_;
  bool connected_ = false;
};

}  // namespace feroma::net::test
