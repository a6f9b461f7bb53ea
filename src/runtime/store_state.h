#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace feroma {

/// What an algorithm needs besides the models that it serves; they are named in it.
inline constexpr std::string_view kStoreStateSuffix = ".state";

[[nodiscard]] inline std::filesystem::path store_state_path(const std::filesystem::path& folder,
                                                            const std::string& label) {
  return folder / "models" / (label + std::string(kStoreStateSuffix));
}

/// How a state names a model's file: with its SHA-256, so that it is neither damaged nor another's.
inline constexpr char kBeforeDigest = '#';

[[nodiscard]] inline std::string stored_name(const std::string& file, const std::string& digest) {
  return file + kBeforeDigest + digest;
}

/// The file in such a name, and its SHA-256; states that earlier versions wrote name the file alone.
[[nodiscard]] inline std::pair<std::string, std::string> parts_of_stored_name(const std::string& name) {
  constexpr std::size_t kDigits = 64;
  if (name.size() <= kDigits || name[name.size() - kDigits - 1] != kBeforeDigest) {
    return {name, ""};
  }
  return {name.substr(0, name.size() - kDigits - 1), name.substr(name.size() - kDigits)};
}

}  // namespace feroma
