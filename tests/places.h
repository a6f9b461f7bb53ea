#pragma once

#include <filesystem>
#include <string_view>

namespace feroma::test {

// Only places.cpp knows this checkout's paths: all other objects are the same in every folder, and a compiler cache
// finds them.
extern const char* const kSourceFolder;
extern const char* const kProgram;  ///< the feroma that was built with the tests

/// A file of the repository.
inline std::filesystem::path source_file(std::string_view name) { return std::filesystem::path(kSourceFolder) / name; }

inline std::filesystem::path golden_file(std::string_view name) { return source_file("tests/golden") / name; }

}  // namespace feroma::test
