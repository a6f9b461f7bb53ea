#include "data/own_dataset.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/readers.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/data/split.h"

namespace feroma::detail {
namespace {

namespace fs = std::filesystem;

/// Keys that a kind cannot do without.
void require_keys(const OwnDatasetOptions& own, Problems& problems) {
  const auto need = [&](std::string_view key, const std::string& value) {
    if (value.empty()) {
      problems.add("dataset.{} must be given for kind \"{}\", got nothing", key, name_of(own.kind));
    }
  };
  if (own.kind == OwnKind::npz || own.kind == OwnKind::csv) {
    need("file", own.file);
  }
  if (own.kind == OwnKind::npy || own.kind == OwnKind::npz || own.kind == OwnKind::idx) {
    need("inputs", own.inputs);
    need("labels", own.labels);
    if (own.test_inputs.empty() != own.test_labels.empty()) {
      problems.add("dataset.test_inputs and test_labels must be given together, got one of them");
    }
  }
  if (own.kind == OwnKind::csv) {
    need("label_column", own.label_column);
  }
  if (own.channels == 2) {
    problems.add("dataset.channels must be 1 or 3, got 2");
  }
  const std::size_t names = split_list(own.class_names).size();
  if (names > 0 && own.classes > 0 && names != static_cast<std::size_t>(own.classes)) {
    problems.add("dataset.class_names must name all of the {} classes, got {}", own.classes, names);
  }
}

Dataset read_own_pictures(const fs::path& folder, const OwnDatasetOptions& own) {
  PictureTree tree = read_tree(folder, own.domain_folders, own.channels, {.image_size = own.image_size});
  Dataset dataset;
  dataset.classes = static_cast<int>(tree.class_names.size());
  require(own.classes == 0 || own.classes == dataset.classes, ErrorCode::invalid_data,
          "[dataset] {}: dataset.classes is {}, but there are {} folders of classes", folder.string(), own.classes,
          dataset.classes);
  dataset.class_names = std::move(tree.class_names);
  dataset.domain_names = std::move(tree.domain_names);
  split_(dataset, tree.samples, SplitRule::group, own.test_fraction);
  return dataset;
}

/// At least two classes must occur in the training data, or there is nothing to learn.
void require_two_classes(const Dataset& dataset, const fs::path& folder) {
  const std::vector<std::int32_t>& labels = dataset.train.labels;
  const bool varied = std::adjacent_find(labels.begin(), labels.end(), std::not_equal_to<>()) != labels.end();
  require(dataset.train.multi_label() || varied, ErrorCode::invalid_data,
          "[dataset] {}: training data must have at least two classes, got only class {}", folder.string(),
          labels.empty() ? 0 : labels.front());
}

std::string default_name(const fs::path& folder) {
  const std::string name = fs::absolute(folder).lexically_normal().filename().string();
  return name.empty() ? fs::absolute(folder).lexically_normal().parent_path().filename().string() : name;
}

}  // namespace

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    part = part.substr(0, part.find_last_not_of(' ') + 1);
    if (!part.empty()) {
      parts.emplace_back(part);
    }
  }
  return parts;
}

fs::path own_file(const fs::path& folder, std::string_view key, const std::string& file) {
  const fs::path path(file);
  const bool climbs = std::any_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
  require(!file.empty() && path.is_relative() && !climbs, ErrorCode::invalid_data,
          "[dataset] {}: {} must be a path below the folder, got \"{}\"", folder.string(), key, file);
  return folder / path;
}

OwnDatasetOptions parse_own_options(std::string_view text, const std::string& name) {
  const Settings settings = parse_settings(text, name);
  Problems problems;
  SettingsReader reader(settings, problems);
  OwnDatasetOptions own;
  reader.read(own, "dataset");
  reader.reject_unknown();
  if (problems.messages().empty()) {
    require_keys(own, problems);
    problems.locate(settings);
    if (!problems.messages().empty()) {
      std::string all;
      for (const std::string& message : problems.messages()) {
        all +=
            fmt::format("{}{}", all.empty() ? "" : "\n", message.starts_with(name) ? message : name + ": " + message);
      }
      fail(ErrorCode::invalid_config, "{}", all);
    }
  }
  problems.raise();
  return own;
}

Dataset read_own_dataset(const fs::path& folder, const LoadOptions& options) {
  const fs::path description = folder / kOwnDatasetFile;
  OwnDatasetOptions own;
  if (fs::is_regular_file(description)) {
    own = parse_own_options(read_text(description), description.string());
  } else {
    // A tree of pictures needs no description.
    own.kind = OwnKind::pictures;
    own.image_size = options.image_size;
    const std::vector<std::string> top = sub_folders(folder);
    require(!top.empty(), ErrorCode::invalid_data, "[dataset] {} must have a {} or folders of pictures, got neither",
            folder.string(), kOwnDatasetFile);
    own.domain_folders = !sub_folders(folder / top.front()).empty();
  }
  Dataset dataset;
  switch (own.kind) {
    case OwnKind::npy:
    case OwnKind::npz:
    case OwnKind::idx: dataset = read_own_arrays(folder, own); break;
    case OwnKind::csv: dataset = read_own_table(folder, own); break;
    case OwnKind::pictures: dataset = read_own_pictures(folder, own); break;
  }
  dataset.name = own.name.empty() ? default_name(folder) : own.name;
  require_two_classes(dataset, folder);
  return dataset;
}

}  // namespace feroma::detail
