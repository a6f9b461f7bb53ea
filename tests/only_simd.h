#pragma once

#include "feroma/core/simd.h"

namespace feroma {

/// Limits every kernel to one instruction set while it lives.
class OnlySimd {
 public:
  explicit OnlySimd(SimdTarget target) { use_simd(target); }
  OnlySimd(const OnlySimd&) = delete;
  OnlySimd& operator=(const OnlySimd&) = delete;
  ~OnlySimd() { use_simd(SimdTarget::automatic); }
};

}  // namespace feroma
