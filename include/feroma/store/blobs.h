#pragma once

#include <filesystem>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "feroma/core/archive.h"

namespace feroma {

/// A folder of files that are named after their content (SHA-256): what is there is never written twice, and never
/// changes. What was never synced may be damaged after a power loss, so whoever opens the folder keeps only what it
/// knows to be whole. Safe to use from several threads.
class BlobStore {
 public:
  /// Creates the folder, and removes what a killed writer left unfinished.
  explicit BlobStore(std::filesystem::path folder);

  /// Writes the bytes and returns their digest; they survive a power loss once `sync` has returned.
  [[nodiscard]] std::string put(std::span<const std::byte> bytes);
  void sync();
  /// The bytes behind a digest. A missing file is an io error; one whose content is another is an invalid_data error.
  [[nodiscard]] Bytes get(const std::string& digest) const;
  /// Removes everything but these.
  void keep_only(const std::set<std::string>& digests);
  [[nodiscard]] std::set<std::string> list() const;

 private:
  [[nodiscard]] std::filesystem::path path_of(const std::string& digest) const;

  std::filesystem::path folder_;
  mutable std::mutex mutex_;
  std::set<std::string> known_;
  std::vector<std::filesystem::path> unsynced_;
};

}  // namespace feroma
