#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace feroma::net {

/// The versions of its data that a client has had, in order; kept in a file, so that numbers mean the same after a
/// restart.
class DataVersions {
 public:
  explicit DataVersions(std::filesystem::path file);

  /// The number of a fingerprint: that of the last version where it is the same, else the next one, which is on disk
  /// when this returns.
  [[nodiscard]] int number_of(const std::string& fingerprint);

 private:
  std::filesystem::path file_;
  std::vector<std::string> versions_;
};

}  // namespace feroma::net
