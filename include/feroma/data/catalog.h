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

/// One file of a dataset: its official name and checksums of its uncompressed content, empty where none is published.
struct DatasetFile {
  std::string_view name;
  std::string_view sha256;
  std::string_view md5 = {};
};

/// Who reads a user's own folder. Folders of clients and visitors are read by read_own_folder: they may have no test
/// data, which load_dataset asks for.
enum class FolderRole {
  scenario,  ///< a simulation: two classes at least, and a part of the samples is test data
  client,    ///< a site of a federation: one class will do, and all samples are there to train on
  visitor,   ///< one that comes to be served: labels may be missing, samples stay in the order of the files
};

/// What a user may choose about reading; datasets to which a choice does not apply ignore it.
struct LoadOptions {
  int image_size = 64;        ///< picture trees and CheXpert: side of the square that pictures are resized to
  int first_classes = 0;      ///< picture trees: keep only so many classes, in order of their names; 0 keeps all
  double age_threshold = 50;  ///< chest X-rays: "old" from this age on
  FolderRole role = FolderRole::scenario;  ///< own folders: whom they are read for
  DataNames model = {};                    ///< own folders: what the model that the samples are for calls things
};

/// A dataset this build knows: what it is, where it comes from and how its files are read.
struct DatasetEntry {
  std::string_view name;
  std::string_view title;
  std::string_view source;  ///< the paper to cite
  std::string_view terms;
  SampleShape shape;
  int classes = 0;
  std::vector<DatasetFile> files;  ///< what its reader expects, in order; empty where `holds` decides
  std::string_view inner = {};     ///< the folder that the official archive unpacks to
  bool multi_label = false;        ///< samples may have several labels, or none
  bool knows_age = false;          ///< whether its domains depend on LoadOptions::age_threshold
  bool (*holds)(const std::filesystem::path& folder) = nullptr;
  Dataset (*read)(const DatasetEntry& entry, const std::filesystem::path& folder, const LoadOptions& options) = nullptr;
};

[[nodiscard]] const std::vector<DatasetEntry>& known_datasets();
/// The entry of a name; an unknown name is an invalid_config error with the nearest one.
[[nodiscard]] const DatasetEntry& find_dataset(std::string_view name);

/// Where a dataset's files are: `folder` if given, else the user's data folder, else the system's. Empty if nowhere.
[[nodiscard]] std::filesystem::path locate_dataset(const DatasetEntry& entry, const std::filesystem::path& folder);
/// The dataset's files in `folder`, plain or .gz, in catalogue order; a missing one is an io error naming it.
[[nodiscard]] std::vector<std::filesystem::path> dataset_paths(const DatasetEntry& entry,
                                                               const std::filesystem::path& folder);
/// Files whose content differs from the official one, or cannot be read; empty means none does. Files without a
/// published checksum are not looked at.
[[nodiscard]] std::vector<std::string> altered_files(const DatasetEntry& entry, const std::filesystem::path& folder);
/// The user's data folder: $FEROMA_DATA, else $XDG_DATA_HOME/feroma, else ~/.local/share/feroma.
[[nodiscard]] std::filesystem::path user_data_folder();

/// Whether a dataset's name is the path of a user's own folder: it has a slash, or is a folder with a dataset.toml.
[[nodiscard]] bool is_own_dataset(std::string_view name);
/// Refuses, with invalid_config, a name that is neither in the catalogue nor such a folder.
void check_dataset_name(std::string_view name);

/// Reads and validates a dataset of the catalogue or of a user's own folder; one that is not found is an error that
/// says how to get it.
[[nodiscard]] std::shared_ptr<const Dataset> load_dataset(std::string_view name, const std::filesystem::path& folder,
                                                          const LoadOptions& options = {});

/// Fetches a dataset into `target`, or into the user's data folder, verifies every checksum, and returns the folder.
/// `say` gets progress.
std::filesystem::path fetch_dataset(std::string_view name, const std::function<void(std::string_view)>& say,
                                    const std::filesystem::path& target = {});
/// How to get a dataset that is not on this machine, as advice.
[[nodiscard]] std::string how_to_get(const DatasetEntry& entry);

}  // namespace feroma
