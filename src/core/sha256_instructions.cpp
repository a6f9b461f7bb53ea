#include "core/sha256_blocks.h"
#include "feroma/core/error.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

namespace feroma::detail {
namespace {

#define FEROMA_SHA __attribute__((target("sha,sse4.1")))

/// Words 4g to 4g + 3 of the message schedule from the sixteen before them.
FEROMA_SHA __m128i next_words(const __m128i* w) {
  const __m128i sums = _mm_add_epi32(_mm_sha256msg1_epu32(w[-4], w[-3]), _mm_alignr_epi8(w[-1], w[-2], 4));
  return _mm_sha256msg2_epu32(sums, w[-1]);
}

FEROMA_SHA void add_block(__m128i& abef, __m128i& cdgh, const std::byte* block) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  __m128i w[16];
  __m128i x = abef;
  __m128i y = cdgh;
  for (int g = 0; g < 16; ++g) {
    w[g] = g < 4 ? _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + g), big_endian)
                 : next_words(w + g);
    const auto* constants = reinterpret_cast<const __m128i*>(kSha256Constants.data()) + g;
    const __m128i terms = _mm_add_epi32(w[g], _mm_loadu_si128(constants));
    y = _mm_sha256rnds2_epu32(y, x, terms);
    x = _mm_sha256rnds2_epu32(x, y, _mm_shuffle_epi32(terms, 0x0e));
  }
  abef = _mm_add_epi32(abef, x);
  cdgh = _mm_add_epi32(cdgh, y);
}

}  // namespace

bool has_sha256_instructions() {
  constexpr unsigned kSse41 = 1U << 19;
  constexpr unsigned kSha = 1U << 29;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kSse41) != 0 && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
         (b & kSha) != 0;
}

FEROMA_SHA void add_blocks_by_instruction(Sha256Words& state, std::span<const std::byte> blocks) {
  const auto word = [&state](std::size_t i) { return static_cast<int>(state[i]); };
  // The instructions keep the eight words as (a, b, e, f) and (c, d, g, h), the first in the highest lane.
  __m128i abef = _mm_set_epi32(word(0), word(1), word(4), word(5));
  __m128i cdgh = _mm_set_epi32(word(2), word(3), word(6), word(7));
  for (std::size_t at = 0; at < blocks.size(); at += kSha256BlockBytes) {
    add_block(abef, cdgh, blocks.data() + at);
  }
  std::array<std::uint32_t, 4> first{};
  std::array<std::uint32_t, 4> second{};
  _mm_storeu_si128(reinterpret_cast<__m128i*>(first.data()), abef);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(second.data()), cdgh);
  state = {first[3], first[2], second[3], second[2], first[1], first[0], second[1], second[0]};
}

}  // namespace feroma::detail

#else

namespace feroma::detail {

bool has_sha256_instructions() { return false; }
void add_blocks_by_instruction(Sha256Words&, std::span<const std::byte>) { unreachable(); }

}  // namespace feroma::detail

#endif
