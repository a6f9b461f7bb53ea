#pragma once

#include <cstddef>

#include "core/simd_targets.h"
#include "engine/native/kernels.h"

/// Lanes of the compiled target's vectors of T, at most one group.
#define FEROMA_VEC_LANES(T)                                             \
  (HWY_TARGET == HWY_SCALAR                               ? 1           \
   : HWY_MAX_BYTES / sizeof(T) > std::size_t{kGroupLanes} ? kGroupLanes \
                                                          : static_cast<int>(HWY_MAX_BYTES / sizeof(T)))
