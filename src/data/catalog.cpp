#include "feroma/data/catalog.h"

#include <fmt/format.h>

#include <cstdlib>

#include "data/origin.h"
#include "feroma/core/error.h"
#include "feroma/core/options.h"
#include "feroma/data/idx.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

/// The file under its official name, plain or with .gz; empty if neither is there.
fs::path find_file(const fs::path& folder, std::string_view name) {
  for (const std::string_view suffix : {"", ".gz"}) {
    fs::path path = folder / (std::string(name) + std::string(suffix));
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored)) {
      return path;
    }
  }
  return {};
}

bool has_every_file(const DatasetEntry& entry, const fs::path& folder) {
  for (const DatasetFile& file : entry.files) {
    if (find_file(folder, file.name).empty()) {
      return false;
    }
  }
  return true;
}

std::string how_to_get(const DatasetEntry& entry) {
  const std::string_view package = detail::origin_of(entry.name).debian_package;
  return package.empty() ? fmt::format("run `feroma data get {}`", entry.name)
                         : fmt::format("run `apt install {}` or `feroma data get {}`", package, entry.name);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

const std::vector<DatasetEntry>& known_datasets() {
  static const std::vector<DatasetEntry> entries{
      {.name = "mnist",
       .title = "MNIST handwritten digits",
       .source = "LeCun, Bottou, Bengio, Haffner: Gradient-based learning applied to document recognition, 1998",
       .terms = "CC BY-SA 3.0, Yann LeCun and Corinna Cortes",
       .shape = {1, 28, 28},
       .classes = 10,
       .files = {{"train-images-idx3-ubyte", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
                 {"train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
                 {"t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
                 {"t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"}}},
      {.name = "fmnist",
       .title = "Fashion-MNIST clothing pictures",
       .source = "Xiao, Rasul, Vollgraf: Fashion-MNIST, arXiv:1708.07747, 2017",
       .terms = "MIT, Zalando SE",
       .shape = {1, 28, 28},
       .classes = 10,
       .files = {{"train-images-idx3-ubyte", "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
                 {"train-labels-idx1-ubyte", "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
                 {"t10k-images-idx3-ubyte", "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
                 {"t10k-labels-idx1-ubyte", "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"}}},
  };
  return entries;
}

const DatasetEntry& find_dataset(std::string_view name) {
  std::vector<std::string> names;
  for (const DatasetEntry& entry : known_datasets()) {
    if (entry.name == name) {
      return entry;
    }
    names.emplace_back(entry.name);
  }
  const std::string near = nearest_name(name, names);
  fail(ErrorCode::invalid_config, "[dataset] the name must be one of {}, got \"{}\"{}", fmt::join(names, ", "), name,
       near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near));
}

fs::path user_data_folder() {
  if (const std::string own = environment("FEROMA_DATA"); !own.empty()) {
    return own;
  }
  if (const std::string xdg = environment("XDG_DATA_HOME"); !xdg.empty()) {
    return fs::path(xdg) / "feroma";
  }
  const std::string home = environment("HOME");
  require(!home.empty(), ErrorCode::invalid_config,
          "[dataset] one of FEROMA_DATA, XDG_DATA_HOME and HOME must be set, got none");
  return fs::path(home) / ".local/share/feroma";
}

fs::path locate_dataset(const DatasetEntry& entry, const fs::path& folder) {
  if (!folder.empty()) {
    return has_every_file(entry, folder) ? folder : fs::path();
  }
  const std::string_view system = detail::origin_of(entry.name).system_folder;
  for (const fs::path& candidate : {user_data_folder() / entry.name, fs::path(system)}) {
    if (!candidate.empty() && has_every_file(entry, candidate)) {
      return candidate;
    }
  }
  return {};
}

std::vector<fs::path> dataset_paths(const DatasetEntry& entry, const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const DatasetFile& file : entry.files) {
    paths.push_back(find_file(folder, file.name));
    require(!paths.back().empty(), ErrorCode::io, "[dataset] {} must contain {} or {}.gz, got neither", folder.string(),
            file.name, file.name);
  }
  return paths;
}

std::shared_ptr<const Dataset> load_dataset(std::string_view name, const fs::path& folder) {
  const DatasetEntry& entry = find_dataset(name);
  const fs::path found = locate_dataset(entry, folder);
  require(!found.empty(), ErrorCode::io, "[dataset] {} must be on this machine, got nothing in {}; {}", name,
          folder.empty() ? "the usual places" : folder.string(), how_to_get(entry));
  const std::vector<fs::path> paths = dataset_paths(entry, found);
  const std::vector<std::string> altered = altered_files(entry, found);
  auto dataset = std::make_shared<Dataset>();
  dataset->name = entry.name;
  dataset->classes = entry.classes;
  dataset->train = read_idx_samples(paths[0], paths[1], entry.shape, entry.classes);
  dataset->test = read_idx_samples(paths[2], paths[3], entry.shape, entry.classes);
  require(altered.empty(), ErrorCode::invalid_data,
          "[dataset] {} must have the official content (SHA-256), and differs", altered.empty() ? "" : altered.front());
  return dataset;
}

}  // namespace feroma
