#include "core/entrance.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "feroma/core/error.h"

namespace feroma::net {
namespace {

/// Where descriptors or memory ran out, a connection goes on waiting, and so do we, unless it is over.
constexpr int kShortageMilliseconds = 50;

}  // namespace

Entrance::Entrance(const std::string& address)
    : listeners_(listen_at(address)), over_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  require(static_cast<bool>(over_), ErrorCode::io, "cannot wait for connections: {}", std::strerror(errno));
}

void Entrance::end() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(over_.get(), &one, sizeof(one));  // the counter cannot be full
}

std::optional<Entrance::Caller> Entrance::next() {
  const std::lock_guard lock(door_);
  std::vector<pollfd> waiting{{over_.get(), POLLIN, 0}};
  for (const Descriptor& listener : listeners_) {
    waiting.push_back({listener.get(), POLLIN, 0});
  }
  for (;;) {
    ::poll(waiting.data(), waiting.size(), -1);
    if (waiting.front().revents != 0) {
      return std::nullopt;
    }
    for (std::size_t i = 1; i < waiting.size(); ++i) {
      if (waiting[i].revents == 0) {
        continue;
      }
      sockaddr_storage from{};
      socklen_t size = sizeof(from);
      Descriptor connection(
          ::accept4(waiting[i].fd, reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (connection) {
        return Caller{std::move(connection), peer_of(from)};
      }
      ::poll(waiting.data(), 1, kShortageMilliseconds);
    }
  }
}

}  // namespace feroma::net
