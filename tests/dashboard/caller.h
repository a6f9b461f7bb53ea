#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace feroma::test {

/// A connection to the page, as a browser or a stranger makes one.
class Caller {
 public:
  explicit Caller(int port, in_addr_t host = htonl(INADDR_LOOPBACK)) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = host;
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~Caller() { ::close(socket_); }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  void say(const std::string& text) const {
    EXPECT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  /// What comes until it holds `end`, the other side is done, or nothing came for so long.
  std::string hear(const std::string& end = "\x01", int milliseconds = 10000) {
    std::string piece(4096, '\0');
    pollfd waiting{socket_, POLLIN, 0};
    while (heard_.find(end) == std::string::npos && ::poll(&waiting, 1, milliseconds) > 0) {
      const ssize_t got = ::recv(socket_, piece.data(), piece.size(), 0);
      if (got <= 0) {
        break;
      }
      heard_.append(piece, 0, static_cast<std::size_t>(got));
    }
    return heard_;
  }

 private:
  int socket_;
  std::string heard_;
};

/// What is answered to a request.
inline std::string get(int port, const std::string& path, const std::string& headers = "") {
  Caller caller(port);
  caller.say("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
  return caller.hear();
}

}  // namespace feroma::test
