#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace feroma::detail {

constexpr std::size_t kSha256BlockBytes = 64;

using Sha256Words = std::array<std::uint32_t, 8>;

extern const std::array<std::uint32_t, 64> kSha256Constants;

/// Takes whole blocks into the state, in plain C++.
void add_blocks_portably(Sha256Words& state, std::span<const std::byte> blocks);

/// Whether this processor has instructions for it: ten times faster, and datasets are checked at every start.
[[nodiscard]] bool has_sha256_instructions();

/// The same as add_blocks_portably, where has_sha256_instructions().
void add_blocks_by_instruction(Sha256Words& state, std::span<const std::byte> blocks);

}  // namespace feroma::detail
