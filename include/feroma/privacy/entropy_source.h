#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <span>

namespace feroma {

/// Random bytes for noise that protects data. A different object from every Rng: no seed of a run reaches it.
class EntropySource {
 public:
  virtual ~EntropySource() = default;
  /// Fills `out` or throws; noise is never made of anything else.
  virtual void fill(std::span<std::byte> out) = 0;
};

/// The operating system's generator, read in blocks. Bytes are wiped once they are handed out, and a child process does
/// not use what its parent had read.
class SystemEntropy final : public EntropySource {
 public:
  SystemEntropy() = default;
  SystemEntropy(const SystemEntropy&) = delete;
  SystemEntropy& operator=(const SystemEntropy&) = delete;
  ~SystemEntropy() override;

  void fill(std::span<std::byte> out) override;

 private:
  void refill();

  std::array<std::byte, 4096> block_{};
  std::size_t used_ = sizeof(block_);
  pid_t owner_ = 0;
};

}  // namespace feroma
