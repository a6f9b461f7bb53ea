#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace feroma::net {

/// What a folder's files look like from outside: names, sizes and times, never their content. Which version of the data
/// a profile was released for must not depend on records.
[[nodiscard]] std::string fingerprint_of(const std::filesystem::path& folder);

/// The versions of its data that a client has had, in order; kept in a file, so that numbers mean the same after a
/// restart.
class DataVersions {
 public:
  explicit DataVersions(std::filesystem::path file);

  /// The number of a fingerprint: that of the last version where it is the same, else the next one.
  [[nodiscard]] int number_of(const std::string& fingerprint);

 private:
  std::filesystem::path file_;
  std::vector<std::string> versions_;
};

}  // namespace feroma::net
