#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "feroma/core/archive.h"

namespace feroma {

/// Where the state of one algorithm of a run is kept: `<run>/checkpoint/<label>.ckpt`.
[[nodiscard]] std::filesystem::path checkpoint_path(const std::filesystem::path& run_folder, std::string_view label);

/**
 * Commits `payload`: from the moment this returns it survives a crash and a power loss. Until then the previous
 * commit stays in place, whatever happens. Creates the folder.
 */
void write_checkpoint(const std::filesystem::path& path, std::span<const std::byte> payload);

/// The last committed payload. A torn, damaged, foreign or newer file is an invalid_data error that says which.
[[nodiscard]] Bytes read_checkpoint(const std::filesystem::path& path);

/// Whether something was ever committed there.
[[nodiscard]] bool has_checkpoint(const std::filesystem::path& path);

}  // namespace feroma
