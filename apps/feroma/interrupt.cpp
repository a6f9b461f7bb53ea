#include "interrupt.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "feroma/core/error.h"

namespace feroma::cli {
namespace {

constexpr char kStop = 's';
constexpr char kDrain = 'd';

int signalled = -1;  ///< where the handlers, which may do little else, write what was asked

void tell(char wish) {
  const int kept = errno;
  [[maybe_unused]] const auto written = ::write(signalled, &wish, 1);
  errno = kept;
}

void request_stop(int) {
  tell(kStop);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

void request_drain(int) {
  tell(kDrain);
  std::signal(SIGTERM, request_stop);
}

/// What users ask for by signals. A thread hears of it from the handlers, as those must not wake anybody.
class Wishes {
 public:
  Wishes() {
    std::array<int, 2> ends{};
    require(::pipe2(ends.data(), O_CLOEXEC) == 0, ErrorCode::io, "cannot wait for signals: {}", std::strerror(errno));
    signalled = ends[1];
    std::thread([this, heard = ends[0]] { listen(heard); }).detach();
  }

  Stop stop;
  Stop drain;

 private:
  void listen(int heard) {
    for (char wish = 0;;) {
      if (::read(heard, &wish, 1) == 1) {
        (wish == kStop ? stop : drain).request();
      }
    }
  }
};

/// Never destroyed: its thread waits for as long as the process lives.
Wishes& wishes() {
  static Wishes& all = *new Wishes;  // NOLINT(cppcoreguidelines-owning-memory)
  return all;
}

}  // namespace

const Stop& drain_on_terminate() {
  const Stop& drain = wishes().drain;
  std::signal(SIGTERM, request_drain);
  return drain;
}

const Stop& stop_on_interrupt() {
  const Stop& stop = wishes().stop;
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  return stop;
}

}  // namespace feroma::cli
