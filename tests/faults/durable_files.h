#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "feroma/core/archive.h"
#include "feroma/core/fault_point.h"

namespace feroma::faults {

/// What a power loss leaves of what was not synced.
enum class PowerLoss {
  everything_lost,  ///< names and contents are as they were when last synced
  names_kept,       ///< names are as they were seen last; contents that were not synced are gone
};

/**
 * Keeps track of which files under a folder would survive a power loss: contents by fsync of the file, names by fsync
 * of its folder. Files that are there at the beginning survive. What is written past the watched calls (SQLite) counts
 * as synced.
 */
class DurableFiles {
 public:
  explicit DurableFiles(std::filesystem::path root);

  void opened(int descriptor);
  void synced(int descriptor);
  void folder_synced(int descriptor);
  /// Writes what survives to `folder`, which must not be there.
  void write_survivors(const std::filesystem::path& folder, PowerLoss loss) const;

 private:
  struct Content {
    Bytes bytes;
  };
  struct Entry {
    bool is_folder = false;
    std::shared_ptr<Content> content;  ///< null: never seen
  };
  using Names = std::map<std::string, Entry>;

  [[nodiscard]] Names names_in(const std::filesystem::path& folder) const;
  void remember(const std::filesystem::path& folder);
  void write_folder(const std::filesystem::path& from, const std::filesystem::path& to, PowerLoss loss) const;

  std::filesystem::path root_;
  std::map<std::uint64_t, std::shared_ptr<Content>> contents_;  ///< by inode
  std::map<std::uint64_t, Names> folders_;                      ///< by inode, as they were synced
};

}  // namespace feroma::faults
