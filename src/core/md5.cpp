#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>

#include "feroma/core/files.h"

namespace feroma {
namespace {

constexpr std::size_t kMd5Block = 64;
using Words = std::array<std::uint32_t, 4>;

// RFC 1321, 3.4: floor(2^32 * abs(sin(i + 1))).
constexpr std::array<std::uint32_t, 64> kSines{
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
constexpr std::array<std::array<int, 4>, 4> kShifts{
    {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};

std::uint32_t word_at(std::span<const std::byte> block, std::size_t i) {
  std::uint32_t word = 0;
  for (std::size_t j = 4; j-- > 0;) {
    word = (word << 8) | std::to_integer<std::uint32_t>(block[4 * i + j]);
  }
  return word;
}

void add_block(Words& state, std::span<const std::byte> block) {
  auto [a, b, c, d] = state;
  for (std::size_t i = 0; i < kSines.size(); ++i) {
    const std::size_t round = i / 16;
    std::uint32_t mixed = 0;
    std::size_t word = 0;
    switch (round) {
      case 0: mixed = (b & c) | (~b & d), word = i; break;
      case 1: mixed = (d & b) | (~d & c), word = (5 * i + 1) % 16; break;
      case 2: mixed = b ^ c ^ d, word = (3 * i + 5) % 16; break;
      default: mixed = c ^ (b | ~d), word = (7 * i) % 16; break;
    }
    const std::uint32_t turned = std::rotl(a + mixed + kSines[i] + word_at(block, word), kShifts[round][i % 4]);
    a = d;
    d = c;
    c = b;
    b += turned;
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d};
}

}  // namespace

std::string md5(std::span<const std::byte> bytes) {
  Words state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  const std::size_t whole = bytes.size() / kMd5Block * kMd5Block;
  for (std::size_t at = 0; at < whole; at += kMd5Block) {
    add_block(state, bytes.subspan(at, kMd5Block));
  }
  // The rest, the 1 bit, zeros and the length in bits fill one or two blocks.
  Bytes tail(bytes.begin() + static_cast<std::ptrdiff_t>(whole), bytes.end());
  tail.push_back(std::byte{0x80});
  tail.resize(tail.size() + 8 <= kMd5Block ? kMd5Block : 2 * kMd5Block);
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (std::size_t i = 0; i < 8; ++i) {
    tail[tail.size() - 8 + i] = static_cast<std::byte>(bits >> (8 * i));
  }
  for (std::size_t at = 0; at < tail.size(); at += kMd5Block) {
    add_block(state, std::span(tail).subspan(at, kMd5Block));
  }
  std::string hex;
  for (const std::uint32_t word : state) {
    for (int i = 0; i < 4; ++i) {
      hex += fmt::format("{:02x}", (word >> (8 * i)) & 0xff);
    }
  }
  return hex;
}

}  // namespace feroma
