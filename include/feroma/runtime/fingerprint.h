#pragma once

#include <filesystem>
#include <string>

namespace feroma {

/// What a folder's files look like from outside: names, sizes and times, never their content. Which version of the data
/// a profile was released for must not depend on records.
[[nodiscard]] std::string fingerprint_of(const std::filesystem::path& folder);

}  // namespace feroma
