#include <algorithm>
#include <bit>

#include "core/sha256_blocks.h"
#include "feroma/core/files.h"

namespace feroma {
namespace detail {
// First 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2).
const std::array<std::uint32_t, 64> kSha256Constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

namespace {

std::array<std::uint32_t, 64> message_schedule(std::span<const std::byte> block) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      w[i] = (w[i] << 8) | std::to_integer<std::uint32_t>(block[4 * i + j]);
    }
  }
  for (std::size_t i = 16; i < w.size(); ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  return w;
}

void add_block(Sha256Words& state, std::span<const std::byte> block) {
  const std::array<std::uint32_t, 64> w = message_schedule(block);
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kSha256Constants[i] + w[i];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const Sha256Words update{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) {
    state[i] += update[i];
  }
}

}  // namespace

void add_blocks_portably(Sha256Words& state, std::span<const std::byte> blocks) {
  for (std::size_t at = 0; at < blocks.size(); at += kSha256BlockBytes) {
    add_block(state, blocks.subspan(at, kSha256BlockBytes));
  }
}

}  // namespace detail

namespace {

constexpr std::size_t kBlockBytes = detail::kSha256BlockBytes;

/// What is left of the message, the 1 bit, zeros and the length in bits: one or two blocks.
Bytes padded_tail(std::span<const std::byte> tail, std::uint64_t message_bytes) {
  constexpr std::size_t kLengthBytes = 8;
  const std::size_t size = tail.size() + 1 + kLengthBytes <= kBlockBytes ? kBlockBytes : 2 * kBlockBytes;
  Bytes padded(tail.begin(), tail.end());
  padded.push_back(std::byte{0x80});
  padded.resize(size);
  const std::uint64_t bits = message_bytes * 8;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    padded[size - 1 - i] = static_cast<std::byte>(bits >> (8 * i));
  }
  return padded;
}

void add_blocks(detail::Sha256Words& state, std::span<const std::byte> blocks) {
  detail::has_sha256_instructions() ? detail::add_blocks_by_instruction(state, blocks)
                                    : detail::add_blocks_portably(state, blocks);
}

}  // namespace

void Sha256::add(std::span<const std::byte> bytes) {
  size_ += bytes.size();
  if (!tail_.empty()) {
    const auto more = bytes.first(std::min(bytes.size(), kBlockBytes - tail_.size()));
    tail_.insert(tail_.end(), more.begin(), more.end());
    bytes = bytes.subspan(more.size());
    if (tail_.size() < kBlockBytes) {
      return;
    }
    add_blocks(state_, tail_);
  }
  const std::size_t whole = bytes.size() / kBlockBytes * kBlockBytes;
  add_blocks(state_, bytes.first(whole));
  tail_.assign(bytes.begin() + static_cast<std::ptrdiff_t>(whole), bytes.end());
}

std::string Sha256::hex() const {
  detail::Sha256Words state = state_;
  add_blocks(state, padded_tail(tail_, size_));
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const std::uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) {
      hex += kDigits[(word >> shift) & 0xF];
    }
  }
  return hex;
}

std::string sha256(std::span<const std::byte> bytes) {
  Sha256 digest;
  digest.add(bytes);
  return digest.hex();
}

}  // namespace feroma
