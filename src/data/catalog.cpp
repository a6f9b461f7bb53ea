#include "feroma/data/catalog.h"

#include <fmt/format.h>

#include <cstdlib>

#include "data/origin.h"
#include "data/own_dataset.h"
#include "feroma/core/error.h"
#include "feroma/core/options.h"

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
  if (entry.holds != nullptr) {
    return entry.holds(folder);
  }
  for (const DatasetFile& file : entry.files) {
    if (find_file(folder, file.name).empty()) {
      return false;
    }
  }
  return true;
}

/// The folder itself or the one that the official archive makes in it; empty if neither holds the dataset.
fs::path holding_folder(const DatasetEntry& entry, const fs::path& folder) {
  if (has_every_file(entry, folder)) {
    return folder;
  }
  return !entry.inner.empty() && has_every_file(entry, folder / entry.inner) ? folder / entry.inner : fs::path();
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string how_to_get(const DatasetEntry& entry) {
  const detail::DatasetOrigin& origin = detail::origin_of(entry.name);
  if (!origin.by_hand.empty()) {
    return fmt::format("{} and unpack it into {}", origin.by_hand, (user_data_folder() / entry.name).string());
  }
  const std::string_view package = origin.debian_package;
  return package.empty() ? fmt::format("run `feroma data get {}`", entry.name)
                         : fmt::format("run `apt install {}` or `feroma data get {}`", package, entry.name);
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
  std::error_code ignored;
  if (fs::is_directory(fs::path(name), ignored)) {
    fail(ErrorCode::invalid_config, "[dataset] a folder's name must have a slash, \"./{0}\", got \"{0}\"", name);
  }
  fail(ErrorCode::invalid_config,
       "[dataset] the name must be one of {}, or a folder's with a slash (./clinics), got \"{}\"{}",
       fmt::join(names, ", "), name, near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near));
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
    return holding_folder(entry, folder);
  }
  const std::string_view system = detail::origin_of(entry.name).system_folder;
  for (const fs::path& candidate : {user_data_folder() / entry.name, fs::path(system)}) {
    const fs::path found = candidate.empty() ? fs::path() : holding_folder(entry, candidate);
    if (!found.empty()) {
      return found;
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

bool is_own_dataset(std::string_view name) {
  std::error_code ignored;
  return name.find('/') != std::string_view::npos ||
         fs::is_regular_file(fs::path(name) / detail::kOwnDatasetFile, ignored);
}

void check_dataset_name(std::string_view name) {
  if (!is_own_dataset(name)) {
    (void)find_dataset(name);
    return;
  }
  std::error_code ignored;
  require(fs::is_directory(fs::path(name), ignored), ErrorCode::invalid_config,
          "[dataset] {} must be a folder with a {} or with pictures, got no folder", name, detail::kOwnDatasetFile);
}

std::shared_ptr<const Dataset> load_dataset(std::string_view name, const fs::path& folder, const LoadOptions& options) {
  check_dataset_name(name);
  if (is_own_dataset(name)) {
    auto own = std::make_shared<Dataset>(detail::read_own_dataset(fs::path(name), options));
    check_dataset(*own);
    return own;
  }
  const DatasetEntry& entry = find_dataset(name);
  const fs::path found = locate_dataset(entry, folder);
  require(!found.empty(), ErrorCode::io, "[dataset] {} must be on this machine, got nothing in {}; {}", name,
          folder.empty() ? "the usual places" : folder.string(), how_to_get(entry));
  auto dataset = std::make_shared<Dataset>(entry.read(entry, found, options));
  const std::vector<std::string> altered = altered_files(entry, found);
  require(altered.empty(), ErrorCode::invalid_data, "[dataset] {} must have the official content, and differs",
          altered.empty() ? "" : altered.front());
  check_dataset(*dataset);
  return dataset;
}

}  // namespace feroma
