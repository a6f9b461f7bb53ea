#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "feroma/core/archive.h"
#include "feroma/data/catalog.h"

namespace feroma::detail {

/// A private folder that disappears at the end of its life.
class StagingFolder {
 public:
  /// Creates `parent` if needed and a fresh hidden folder in it.
  StagingFolder(const std::filesystem::path& parent, std::string_view name);
  ~StagingFolder();
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/**
 * Puts a dataset's files into `target` all at once: each file is obtained, checked against its checksum and written
 * to a staging folder beside the target, which takes the target's name as the last step.
 */
void install_dataset(const DatasetEntry& entry, const std::filesystem::path& target,
                     const std::function<Bytes(const DatasetFile&)>& obtain);

}  // namespace feroma::detail
