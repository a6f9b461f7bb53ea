#include "feroma/privacy/discrete_noise.h"

#include <array>
#include <cmath>

#include "feroma/core/error.h"

namespace feroma {
namespace {

constexpr std::uint64_t kLargestVariance = std::uint64_t{1} << 52;
// Beyond so many scales a draw is rejected so that squares stay within 128 bits; it changes probabilities by less than
// 2^-90.
constexpr std::uint64_t kFarthest = 64;

int bit_length(Wide value) {
  int bits = 0;
  while (value > 0) {
    bits += 1;
    value >>= 1;
  }
  return bits;
}

std::uint64_t integer_root(std::uint64_t value) {
  auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(value)));
  while (root * root > value) {
    root -= 1;
  }
  while ((root + 1) * (root + 1) <= value) {
    root += 1;
  }
  return root;
}

}  // namespace

Wide DiscreteNoise::uniform_below(Wide bound) {
  require(bound >= 1, ErrorCode::internal, "[privacy] nothing is below 0");
  const int bits = bit_length(bound - 1);
  const int bytes = (bits + 7) / 8;
  std::array<std::byte, sizeof(Wide)> random{};
  Wide value = 0;
  do {
    source_.fill(std::span(random).first(static_cast<std::size_t>(bytes)));
    value = 0;
    for (int i = 0; i < bytes; ++i) {
      value = value << 8 | static_cast<Wide>(random[static_cast<std::size_t>(i)]);
    }
    value >>= 8 * bytes - bits;
  } while (value >= bound);
  return value;
}

bool DiscreteNoise::bernoulli_exp(Wide numerator, Wide denominator) {
  while (numerator > denominator) {
    if (!bernoulli_exp(1, 1)) {
      return false;
    }
    numerator -= denominator;
  }
  // The alternating series of exp(-x): it is odd where the chain of events breaks with probability exp(-x).
  Wide k = 1;
  while (bernoulli(numerator, denominator * k)) {
    k += 1;
  }
  return k % 2 == 1;
}

std::int64_t DiscreteNoise::laplace(std::uint64_t scale, std::uint64_t scale_denominator) {
  require(scale >= 1 && scale < std::uint64_t{1} << 62 && scale_denominator >= 1, ErrorCode::internal,
          "[privacy] Laplace noise needs a scale in 1..2^62 and a denominator >= 1, got {} and {}", scale,
          scale_denominator);
  while (true) {
    const Wide fraction = uniform_below(scale);
    if (!bernoulli_exp(fraction, scale)) {
      continue;
    }
    Wide whole = 0;
    while (bernoulli_exp(1, 1)) {
      whole += 1;
    }
    const auto size = static_cast<std::int64_t>((fraction + scale * whole) / scale_denominator);
    const bool negative = uniform_below(2) == 1;
    if (!(negative && size == 0)) {  // zero would be drawn twice as often otherwise
      return negative ? -size : size;
    }
  }
}

std::int64_t DiscreteNoise::gaussian(std::uint64_t variance) {
  require(variance >= 1 && variance <= kLargestVariance, ErrorCode::internal,
          "[privacy] Gaussian noise needs a variance in 1..2^52, got {}", variance);
  const std::uint64_t scale = integer_root(variance) + 1;
  while (true) {
    const std::int64_t drawn = laplace(scale, 1);
    const auto size = static_cast<std::uint64_t>(drawn < 0 ? -drawn : drawn);
    if (size > kFarthest * scale) {
      continue;
    }
    const Wide product = static_cast<Wide>(size) * scale;
    const Wide off = product > variance ? product - variance : variance - product;
    if (bernoulli_exp(off * off, static_cast<Wide>(2) * variance * scale * scale)) {
      return drawn;
    }
  }
}

}  // namespace feroma
