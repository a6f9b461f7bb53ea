#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "feroma/core/options.h"
#include "feroma/data/catalog.h"

namespace feroma::detail {

/// The description that makes a folder a dataset.
inline constexpr const char* kOwnDatasetFile = "dataset.toml";

enum class OwnKind { npy, npz, idx, csv, pictures };
constexpr auto enum_names(OwnKind) {
  using enum OwnKind;
  return std::array<std::pair<OwnKind, std::string_view>, 5>{
      {{npy, "npy"}, {npz, "npz"}, {idx, "idx"}, {csv, "csv"}, {pictures, "pictures"}}};
}

enum class OwnSplit { group, owner };
constexpr auto enum_names(OwnSplit) {
  using enum OwnSplit;
  return std::array<std::pair<OwnSplit, std::string_view>, 2>{{{group, "group"}, {owner, "owner"}}};
}

/// The `[dataset]` table of a dataset.toml; lists are written with commas.
struct OwnDatasetOptions {
  std::string name;
  OwnKind kind = OwnKind::npy;
  int classes = 0;
  std::string class_names;
  std::string domain_names;
  std::string shape;
  double test_fraction = 0.2;
  OwnSplit split = OwnSplit::group;

  std::string file, test_file;
  std::string inputs, labels, domains, owners;
  std::string test_inputs, test_labels, test_domains, test_owners;

  std::string label_column, input_columns, picture_column, domain_columns, owner_column;

  bool domain_folders = true;
  int image_size = 64;
  int channels = 3;

  DataNames model = {};  ///< no key: LoadOptions::model

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, anything(), "what reports call the dataset; empty: the folder's name");
    visit("kind", self.kind, anything(), "format of the files");
    visit("classes", self.classes, between(0, 100000), "number of classes; 0: count them");
    visit("class_names", self.class_names, anything(), "names of the classes, in the order of the labels");
    visit("domain_names", self.domain_names, anything(), "names of the domains, in the order of their ids");
    visit("shape", self.shape, anything(), "shape of a sample, CHANNELSxHEIGHTxWIDTH");
    visit("test_fraction", self.test_fraction, between(0.01, 0.9), "part held out where there are no test files");
    visit("split", self.split, anything(), "hold out a part of each domain and class (group) or whole owners (owner)");
    visit("file", self.file, anything(), "npz, csv: the file");
    visit("test_file", self.test_file, anything(), "csv: the file with the test data");
    visit("inputs", self.inputs, anything(), "npy, idx: file of the inputs; npz: name of the array");
    visit("labels", self.labels, anything(), "npy, idx: file of the labels; npz: name of the array");
    visit("domains", self.domains, anything(), "npy, idx: file of the domains' ids; npz: name of the array");
    visit("owners", self.owners, anything(), "npy, idx: file of the owners' ids; npz: name of the array");
    visit("test_inputs", self.test_inputs, anything(), "as inputs, of the test data");
    visit("test_labels", self.test_labels, anything(), "as labels, of the test data");
    visit("test_domains", self.test_domains, anything(), "as domains, of the test data");
    visit("test_owners", self.test_owners, anything(), "as owners, of the test data");
    visit("label_column", self.label_column, anything(), "csv: the class, or several columns of 0 and 1");
    visit("input_columns", self.input_columns, anything(), "csv: columns of numbers; empty: all that are left");
    visit("picture_column", self.picture_column, anything(), "csv: column with the path of a picture");
    visit("domain_columns", self.domain_columns, anything(), "csv: columns whose values tell the domains apart");
    visit("owner_column", self.owner_column, anything(), "csv: whose sample it is");
    visit("domain_folders", self.domain_folders, anything(), "pictures: DOMAIN/CLASS folders, or only CLASS folders");
    visit("image_size", self.image_size, between(1, 4096), "pictures: side of the square they are resized to");
    visit("channels", self.channels, between(1, 3), "pictures: 1 gray, 3 RGB");
  }
};

/// Reads a dataset.toml; everything wrong with it is one invalid_config error with file and line.
[[nodiscard]] OwnDatasetOptions parse_own_options(std::string_view text, const std::string& name,
                                                  FolderRole role = FolderRole::scenario);

/// Reads a user's folder: by its dataset.toml, or, where there is none, as a tree DOMAIN/CLASS/picture; a visitor's as
/// pictures without labels.
[[nodiscard]] Dataset read_own_dataset(const std::filesystem::path& folder, const LoadOptions& options);

/// The kinds that are arrays (npy, npz, idx), tables (csv) and pictures.
[[nodiscard]] Dataset read_own_arrays(const std::filesystem::path& folder, const OwnDatasetOptions& own,
                                      FolderRole role);
[[nodiscard]] Dataset read_own_table(const std::filesystem::path& folder, const OwnDatasetOptions& own,
                                     FolderRole role);
[[nodiscard]] Dataset read_own_pictures(const std::filesystem::path& folder, const OwnDatasetOptions& own,
                                        FolderRole role);

/// Fills the splits where no test files are named: a scenario holds a part out, everybody else trains on all.
void divide_(Dataset& dataset, Samples&& all, const OwnDatasetOptions& own, FolderRole role);
/// Notes which rows of a visitor's training samples have labels.
void mark_labels_(Dataset& dataset, std::vector<std::uint32_t> rows);

/// "a, b" as {"a", "b"}.
[[nodiscard]] std::vector<std::string> split_list(std::string_view text);
/// `names` if the model that the samples are for knows no others, else those of its classes.
[[nodiscard]] std::vector<std::string> model_classes_or(const OwnDatasetOptions& own, std::vector<std::string> names);
/// A file named in a dataset.toml: below the folder, never outside of it.
[[nodiscard]] std::filesystem::path own_file(const std::filesystem::path& folder, std::string_view key,
                                             const std::string& file);

}  // namespace feroma::detail
