#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "feroma/core/batch.h"
#include "feroma/data/dataset.h"

namespace feroma {

/// One file of a dataset: its official name and the SHA-256 of its uncompressed content.
struct DatasetFile {
  std::string_view name;
  std::string_view sha256;
};

/// A dataset this build knows: what it is and where it comes from.
struct DatasetEntry {
  std::string_view name;
  std::string_view title;
  std::string_view source;  ///< the paper to cite
  std::string_view terms;
  SampleShape shape;
  int classes = 0;
  std::vector<DatasetFile> files;  ///< train images, train labels, test images, test labels
};

[[nodiscard]] const std::vector<DatasetEntry>& known_datasets();
/// The entry of a name; an unknown name is an invalid_config error with the nearest one.
[[nodiscard]] const DatasetEntry& find_dataset(std::string_view name);

/// Where a dataset's files are: `folder` if given, else the user's data folder, else the system's. Empty if nowhere.
[[nodiscard]] std::filesystem::path locate_dataset(const DatasetEntry& entry, const std::filesystem::path& folder);
/// The dataset's files in `folder`, plain or .gz, in catalogue order; a missing one is an io error naming it.
[[nodiscard]] std::vector<std::filesystem::path> dataset_paths(const DatasetEntry& entry,
                                                               const std::filesystem::path& folder);
/// Files whose content differs from the official one, or cannot be read; empty means everything is verified.
[[nodiscard]] std::vector<std::string> altered_files(const DatasetEntry& entry, const std::filesystem::path& folder);
/// The user's data folder: $FEROMA_DATA, else $XDG_DATA_HOME/feroma, else ~/.local/share/feroma.
[[nodiscard]] std::filesystem::path user_data_folder();

/// Reads and validates a dataset; one that is not found is an error that says how to get it.
[[nodiscard]] std::shared_ptr<const Dataset> load_dataset(std::string_view name, const std::filesystem::path& folder);

/// Fetches a dataset into the user's data folder, verifies every checksum, and returns the folder. `say` gets progress.
std::filesystem::path fetch_dataset(std::string_view name, const std::function<void(std::string_view)>& say);

}  // namespace feroma
