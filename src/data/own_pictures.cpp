#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "data/own_dataset.h"
#include "data/picture_tree.h"
#include "data/readers.h"
#include "feroma/core/error.h"
#include "feroma/core/log.h"
#include "feroma/data/picture.h"

namespace feroma::detail {
namespace {

namespace fs = std::filesystem;

/// A picture that will be a sample.
struct ListedPicture {
  fs::path file;  ///< below the folder
  std::optional<std::int32_t> label;
  std::int32_t domain = 0;
};

std::string_view tree_form(const OwnDatasetOptions& own) { return own.domain_folders ? "DOMAIN/CLASS" : "CLASS"; }

/// The number of the class that a folder's name stands for; one that neither the model nor the dataset.toml names is
/// refused.
std::int32_t class_of(const fs::path& folder, const OwnDatasetOptions& own, const std::vector<std::string>& names,
                      const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  const std::string near = found == names.end() ? nearest_name(name, names) : "";
  require(found != names.end(), ErrorCode::invalid_data,
          "[pictures] {}: folders of classes must be {} ({}), got \"{}\"{}", folder.string(),
          own.model.classes.empty() ? "named in dataset.class_names" : "classes that the model knows",
          fmt::join(names, ", "), name, near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near));
  return static_cast<std::int32_t>(found - names.begin());
}

/// The classes of a client's tree: as named, or else the folders that are there, all of them in every domain.
std::vector<std::string> tree_classes(const fs::path& folder, const OwnDatasetOptions& own) {
  std::vector<std::string> names = model_classes_or(own, split_list(own.class_names));
  if (!names.empty()) {
    return names;
  }
  const std::vector<std::string> top = sub_folders(folder);
  if (own.domain_folders && !top.empty()) {
    names = sub_folders(folder / top.front());
    require_same_classes(folder, top, names);
  } else {
    names = top;
  }
  require(own.classes == 0 || static_cast<std::size_t>(own.classes) == names.size(), ErrorCode::invalid_data,
          "[dataset] {}: dataset.classes is {}, but there are {} folders of classes; dataset.class_names must tell "
          "which of the classes they are",
          folder.string(), own.classes, names.size());
  return names;
}

/// The pictures of a client's tree; a class that is named may be absent or empty.
std::vector<ListedPicture> list_tree(const fs::path& folder, const OwnDatasetOptions& own,
                                     const std::vector<std::string>& names, const std::vector<std::string>& domains) {
  std::vector<ListedPicture> list;
  const bool is_named = !own.class_names.empty() || !own.model.classes.empty();
  for (std::size_t domain = 0; domain < domains.size(); ++domain) {
    const fs::path below = folder / domains[domain];
    for (const std::string& name : sub_folders(below)) {
      const std::int32_t label = class_of(below, own, names, name);
      const std::vector<fs::path> paths = pictures_in(below / name);
      require_pictures(!paths.empty() || is_named, below / name);
      for (const fs::path& path : paths) {
        list.push_back(
            {(fs::path(domains[domain]) / name / path.filename()).lexically_normal(), label, static_cast<int>(domain)});
      }
    }
  }
  return list;
}

/// A visitor's pictures. Folders are classes only where class_names says so; pictures outside of them have no label.
std::vector<ListedPicture> list_visitor(const fs::path& folder, const OwnDatasetOptions& own,
                                        const std::vector<std::string>& names) {
  std::vector<ListedPicture> list;
  const std::ptrdiff_t class_level = own.domain_folders ? 1 : 0;
  for (const fs::path& file : pictures_below(folder)) {
    ListedPicture listed{.file = file, .label = std::nullopt};
    const fs::path folders = file.parent_path();
    if (!names.empty() && std::distance(folders.begin(), folders.end()) > class_level) {
      listed.label = class_of(folder, own, names, std::next(folders.begin(), class_level)->string());
    }
    list.push_back(std::move(listed));
  }
  if (names.empty() && !sub_folders(folder).empty()) {
    log::info("{}: without class_names in a {} the names of its folders are not labels", folder.string(),
              kOwnDatasetFile);
  }
  return list;
}

/// Decodes the pictures into samples of the dataset, all of them for training.
void append_pictures_(Dataset& dataset, const fs::path& folder, const OwnDatasetOptions& own,
                      const std::vector<ListedPicture>& list) {
  Samples& samples = dataset.train;
  samples.shape = {.channels = own.channels, .height = own.image_size, .width = own.image_size};
  for (const ListedPicture& picture : list) {
    append_picture_file_(samples.pixels, folder / picture.file, own.channels, own.image_size, own.image_size);
    samples.labels.push_back(picture.label.value_or(0));
    if (!dataset.domain_names.empty()) {
      samples.domains.push_back(picture.domain);
    }
    dataset.sample_names.push_back(picture.file.generic_string());
  }
}

Dataset read_visitor_pictures(const fs::path& folder, const OwnDatasetOptions& own) {
  Dataset dataset;
  dataset.class_names = split_list(own.class_names);
  if (!dataset.class_names.empty()) {
    dataset.class_names = model_classes_or(own, std::move(dataset.class_names));
  }
  dataset.classes =
      dataset.class_names.empty() ? std::max(own.classes, 1) : static_cast<int>(dataset.class_names.size());
  const std::vector<ListedPicture> list = list_visitor(folder, own, dataset.class_names);
  require_pictures(!list.empty(), folder);
  append_pictures_(dataset, folder, own, list);
  std::vector<std::uint32_t> labelled;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].label) {
      labelled.push_back(static_cast<std::uint32_t>(i));
    }
  }
  if (labelled.empty() && !dataset.class_names.empty()) {
    log::warning("{}: no picture lies in a {} folder, so none has a label", folder.string(), tree_form(own));
  }
  mark_labels_(dataset, std::move(labelled));
  return dataset;
}

Dataset read_client_pictures(const fs::path& folder, const OwnDatasetOptions& own) {
  Dataset dataset;
  dataset.class_names = tree_classes(folder, own);
  dataset.classes = static_cast<int>(dataset.class_names.size());
  if (own.domain_folders) {
    dataset.domain_names = sub_folders(folder);
  }
  const std::vector<ListedPicture> list = list_tree(
      folder, own, dataset.class_names, own.domain_folders ? dataset.domain_names : std::vector<std::string>{"."});
  require(!list.empty(), ErrorCode::invalid_data,
          "[pictures] {}: must hold .png or .jpg pictures in {} folders, got none", folder.string(), tree_form(own));
  append_pictures_(dataset, folder, own, list);
  return dataset;
}

Dataset read_scenario_pictures(const fs::path& folder, const OwnDatasetOptions& own) {
  PictureTree tree = read_tree(folder, own.domain_folders, own.channels, {.image_size = own.image_size});
  Dataset dataset;
  dataset.classes = static_cast<int>(tree.class_names.size());
  require(own.classes == 0 || own.classes == dataset.classes, ErrorCode::invalid_data,
          "[dataset] {}: dataset.classes is {}, but there are {} folders of classes", folder.string(), own.classes,
          dataset.classes);
  dataset.class_names = std::move(tree.class_names);
  dataset.domain_names = std::move(tree.domain_names);
  OwnDatasetOptions by_group = own;
  by_group.split = OwnSplit::group;
  divide_(dataset, std::move(tree.samples), by_group, FolderRole::scenario);
  return dataset;
}

}  // namespace

Dataset read_own_pictures(const fs::path& folder, const OwnDatasetOptions& own, FolderRole role) {
  switch (role) {
    case FolderRole::scenario: return read_scenario_pictures(folder, own);
    case FolderRole::client: return read_client_pictures(folder, own);
    case FolderRole::visitor: return read_visitor_pictures(folder, own);
  }
  unreachable();
}

}  // namespace feroma::detail
