#pragma once

#include <cstddef>

#include "engine/native/kernels.h"

// Included before any Highway header, to say which instruction sets the kernels are compiled for.

// Register tiles are arrays of vectors, which vectors without a fixed size cannot form. SSSE3 is not worth its code.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
// g++ 12 drops every other lane of emulated vectors at -O3; machines without SIMD compute one lane at a time.
#define HWY_BROKEN_EMU128 1

/// Lanes of the compiled target's vectors of T, at most one group.
#define FEROMA_VEC_LANES(T)                                             \
  (HWY_TARGET == HWY_SCALAR                               ? 1           \
   : HWY_MAX_BYTES / sizeof(T) > std::size_t{kGroupLanes} ? kGroupLanes \
                                                          : static_cast<int>(HWY_MAX_BYTES / sizeof(T)))
