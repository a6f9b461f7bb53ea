#include "feroma/core/rng.h"

#include <Random123/philox.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "feroma/core/distinct_draws.h"
#include "feroma/core/error.h"
#include "feroma/core/portable_math.h"

namespace feroma {
namespace {

/// Up to one value in so many, remembering what moved is cheaper than filling an array to shuffle.
constexpr std::size_t kFewOutOfMany = 512;

/// SplitMix64's finaliser: spreads every input bit over the word.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// FNV-1a, so that a purpose is the same number on every platform.
std::uint64_t hash(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : text) {
    h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  return h;
}

}  // namespace

Rng::Rng(std::uint64_t seed) : key_(mix(seed)) {}

Rng Rng::derive(std::string_view purpose, std::uint64_t a, std::uint64_t b) const {
  Rng child(0);
  child.key_ = mix(mix(mix(key_ ^ hash(purpose)) ^ a) + b);
  return child;
}

void Rng::refill() {
  const r123::Philox4x32::ctr_type counter = {
      {static_cast<std::uint32_t>(counter_), static_cast<std::uint32_t>(counter_ >> 32), 0, 0}};
  const r123::Philox4x32::key_type key = {{static_cast<std::uint32_t>(key_), static_cast<std::uint32_t>(key_ >> 32)}};
  const auto out = r123::Philox4x32{}(counter, key);
  for (std::size_t i = 0; i < 4; ++i) {
    block_[i] = out[i];
  }
  ++counter_;
  used_ = 0;
}

std::uint32_t Rng::next_u32() {
  if (used_ == 4) {
    refill();
  }
  return block_[static_cast<std::size_t>(used_++)];
}

std::uint64_t Rng::next_u64() {
  const std::uint64_t high = next_u32();
  return (high << 32) | next_u32();
}

std::uint64_t Rng::below(std::uint64_t bound) {
  require(bound >= 1, ErrorCode::internal, "[rng] below() needs a bound >= 1, got {}", bound);
  // Reject the few low values that would make the remainder uneven.
  const std::uint64_t threshold = (0 - bound) % bound;
  for (;;) {
    const std::uint64_t value = next_u64();
    if (value >= threshold) {
      return value % bound;
    }
  }
}

double Rng::uniform() { return static_cast<double>(next_u64() >> 11) * 0x1.0p-53; }

double Rng::normal() {
  const double radius = std::sqrt(-2.0 * portable_log(1.0 - uniform()));
  return radius * portable_cos(2.0 * std::numbers::pi * uniform());
}

std::vector<std::uint32_t> Rng::permutation(std::size_t size) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0U);
  shuffle(std::span(order));
  return order;
}

std::vector<std::uint32_t> Rng::sample(std::size_t size, std::size_t count) {
  require(count <= size, ErrorCode::internal, "[rng] cannot draw {} distinct values out of {}", count, size);
  if (count < size / kFewOutOfMany) {
    DistinctDraws draws(*this, size);
    std::vector<std::uint32_t> drawn(count);
    std::generate(drawn.begin(), drawn.end(), [&draws] { return draws.next(); });
    return drawn;
  }
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(order[i], order[i + below(size - i)]);
  }
  order.resize(count);
  return order;
}

}  // namespace feroma
