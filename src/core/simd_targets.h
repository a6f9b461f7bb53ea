#pragma once

// Included before any Highway header, to say which instruction sets kernels are compiled for. All of them go through
// here, so that one choice (feroma/core/simd.h) holds for all.

// Register tiles are arrays of vectors, which vectors without a fixed size cannot form. SSSE3 is not worth its code.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
// g++ 12 drops every other lane of emulated vectors at -O3; machines without SIMD compute one lane at a time.
#define HWY_BROKEN_EMU128 1
// Every 64-bit Arm has NEON, so nothing is left to choose there. Were Highway to choose, it would compile for AES too:
// small boards lack it, and g++ then refuses to inline the constructors of its vectors into those of our structs.
#define TOOLCHAIN_MISS_SYS_AUXV_H 1
