#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "feroma/core/npy.h"

namespace feroma {

/// The most bytes all arrays of one .npz may take together: 4 GiB.
inline constexpr std::size_t kMaxNpzBytes = std::size_t{1} << 32;

/**
 * Reads the arrays of a .npz (a zip of .npy files), by name without the suffix. Refused with invalid_data: names with
 * folders or written twice, sizes that differ from the declared ones, and anything larger than zip can pack into so few
 * bytes.
 */
[[nodiscard]] std::map<std::string, NpyArray> parse_npz(std::span<const std::byte> bytes, const std::string& name);
[[nodiscard]] std::map<std::string, NpyArray> read_npz(const std::filesystem::path& path);

}  // namespace feroma
