#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace feroma {

/// What an algorithm needs besides the models that it serves; they are named in it.
inline constexpr std::string_view kStoreStateSuffix = ".state";

[[nodiscard]] inline std::filesystem::path store_state_path(const std::filesystem::path& folder,
                                                            const std::string& label) {
  return folder / "models" / (label + std::string(kStoreStateSuffix));
}

}  // namespace feroma
