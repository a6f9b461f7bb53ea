#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "feroma/core/files.h"

namespace feroma {

/// A file that only grows, as it was at some moment.
struct GrownFile {
  std::uint64_t size = 0;
  std::string digest;  ///< SHA-256 of those bytes
  friend bool operator==(const GrownFile&, const GrownFile&) = default;
};

/// By their names in one folder.
using GrownFiles = std::map<std::string, GrownFile>;

/// Of the first bytes of a file; one that is shorter is an invalid_data error.
[[nodiscard]] Sha256 digest_of_first(const std::filesystem::path& path, std::uint64_t size);

/// Why a file cannot have grown from what it was: it is missing or shorter, or other bytes are there; empty where it
/// can.
[[nodiscard]] std::string damage_of(const std::filesystem::path& path, const GrownFile& was);

}  // namespace feroma
