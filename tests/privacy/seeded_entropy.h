#pragma once

#include "feroma/core/rng.h"
#include "feroma/privacy/entropy_source.h"

namespace feroma::test {

/// The same bytes every time, so that statistical tests cannot fail by chance.
class SeededEntropy final : public EntropySource {
 public:
  explicit SeededEntropy(std::uint64_t seed) : rng_(seed) {}
  void fill(std::span<std::byte> out) override {
    for (std::byte& byte : out) {
      if (left_ == 0) {
        word_ = rng_.next_u64();
        left_ = 8;
      }
      byte = static_cast<std::byte>(word_ & 0xFF);
      word_ >>= 8;
      left_ -= 1;
    }
  }

 private:
  Rng rng_;
  std::uint64_t word_ = 0;
  int left_ = 0;
};

}  // namespace feroma::test
