#include "feroma/privacy/entropy_source.h"

#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "feroma/core/error.h"

namespace feroma {

SystemEntropy::~SystemEntropy() { explicit_bzero(block_.data(), block_.size()); }

void SystemEntropy::refill() {
  std::size_t got = 0;
  while (got < block_.size()) {
    // Blocks until the system is seeded, and may be cut short by a signal.
    const ssize_t read = getrandom(block_.data() + got, block_.size() - got, 0);
    require(read > 0 || (read < 0 && errno == EINTR), ErrorCode::io,
            "[privacy] the operating system gave no random bytes: {}", strerror(errno));
    got += read > 0 ? static_cast<std::size_t>(read) : 0;
  }
  used_ = 0;
  owner_ = getpid();
}

void SystemEntropy::fill(std::span<std::byte> out) {
  while (!out.empty()) {
    if (used_ == block_.size() || owner_ != getpid()) {
      refill();
    }
    const std::size_t count = std::min(out.size(), block_.size() - used_);
    std::copy_n(block_.data() + used_, count, out.data());
    explicit_bzero(block_.data() + used_, count);
    used_ += count;
    out = out.subspan(count);
  }
}

}  // namespace feroma
