#pragma once

#include <filesystem>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "feroma/core/archive.h"

namespace feroma {

/// A folder of files that are named after their content (SHA-256). What was never synced may be damaged after a power
/// loss, so of what is found only that is believed which somebody vouches for; the rest is written again when it is
/// put, and stays until it is removed. Safe to use from several threads.
class BlobStore {
 public:
  /// Looks at the folder, which need not be there, and writes nothing.
  explicit BlobStore(std::filesystem::path folder);
  /// Believes what was found under these names: they were synced before somebody wrote them down.
  void vouch_for(const std::set<std::string>& digests);
  /// Where a digest's bytes are, or would be.
  [[nodiscard]] std::filesystem::path path_of(const std::string& digest) const;

  /// Writes the bytes and returns their digest; they survive a power loss once `sync` has returned.
  [[nodiscard]] std::string put(std::span<const std::byte> bytes);
  void sync();
  /// The bytes behind a digest; an invalid_data error where they are not there, or are others.
  [[nodiscard]] Bytes get(const std::string& digest) const;
  /// Removes everything but these.
  void keep_only(const std::set<std::string>& digests);
  /// What is in the folder, believed or not.
  [[nodiscard]] std::set<std::string> list() const;

 private:
  void make_ready();

  std::filesystem::path folder_;
  mutable std::mutex mutex_;
  bool ready_ = false;
  std::set<std::string> found_;    ///< what is there
  std::set<std::string> trusted_;  ///< of that, what need not be written again
  std::vector<std::filesystem::path> unsynced_;
};

}  // namespace feroma
