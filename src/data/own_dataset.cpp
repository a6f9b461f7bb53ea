#include "data/own_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "data/column_questions.h"
#include "data/picture_tree.h"
#include "data/readers.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/core/log.h"
#include "feroma/data/own_folder.h"
#include "feroma/data/split.h"

namespace feroma::detail {
namespace {

namespace fs = std::filesystem;

/// Keys that a kind cannot do without.
void require_keys(const OwnDatasetOptions& own, FolderRole role, Problems& problems) {
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
    if (role != FolderRole::visitor) {
      need("labels", own.labels);
    }
    if (own.test_inputs.empty() != own.test_labels.empty()) {
      problems.add("dataset.test_inputs and test_labels must be given together, got one of them");
    }
  }
  if (own.kind == OwnKind::csv && role != FolderRole::visitor) {
    need("label_column", split_list(own.label_column).empty() ? "" : own.label_column);
  }
  if (own.channels == 2) {
    problems.add("dataset.channels must be 1 or 3, got 2");
  }
  std::vector<std::string> names = split_list(own.class_names);
  if (!names.empty() && own.classes > 0 && names.size() != static_cast<std::size_t>(own.classes)) {
    problems.add("dataset.class_names must name all of the {} classes, got {}", own.classes, names.size());
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (role != FolderRole::scenario && twice != names.end()) {
    problems.add("dataset.class_names must differ, got \"{}\" twice", *twice);
  }
}

/// Whether the dataset.toml, or a model, tells the classes, rather than the samples that happen to be there.
bool tells_classes(const OwnDatasetOptions& own) {
  return own.classes > 0 || !split_list(own.class_names).empty() || !own.model.classes.empty();
}

bool has_two_classes(const Samples& samples) {
  const std::vector<std::int32_t>& labels = samples.labels;
  return std::adjacent_find(labels.begin(), labels.end(), std::not_equal_to<>()) != labels.end();
}

/// A scenario needs two classes, or there is nothing to learn. Others may have one, if something else says what number
/// it has; where only the words that occur do, sites with other words would number them otherwise.
void check_classes(const Dataset& dataset, const OwnDatasetOptions& own, const fs::path& folder, FolderRole role) {
  if (dataset.train.multi_label()) {
    return;
  }
  const bool varied = has_two_classes(dataset.train);
  const std::int32_t first = dataset.train.labels.empty() ? 0 : dataset.train.labels.front();
  if (role == FolderRole::scenario) {
    require(varied, ErrorCode::invalid_data,
            "[dataset] {}: training data must have at least two classes, got only class {}", folder.string(), first);
    return;
  }
  // Words and folders get numbers by their order; numbers in arrays are what they are.
  const bool counts_words = !tells_classes(own) && !dataset.class_names.empty();
  const bool enough = role == FolderRole::client ? varied : !counts_words || dataset.class_names.size() > 1;
  if (!tells_classes(own) && !enough) {
    throw OpenQuestion(
        ErrorCode::invalid_data,
        fmt::format("[dataset] {}: dataset.class_names or dataset.classes must be given where only one class occurs, "
                    "got only class {}",
                    folder.string(),
                    dataset.class_names.empty() ? std::to_string(first) : dataset.class_names.front()));
  }
  if (counts_words) {
    log::warning(
        "{}: its classes ({}) are numbered by the names that occur in it; in a federation class_names should be given "
        "in its {}, or sites with other classes use other numbers",
        folder.string(), fmt::join(dataset.class_names, ", "), kOwnDatasetFile);
  }
}

std::string default_name(const fs::path& folder) {
  const std::string name = fs::absolute(folder).lexically_normal().filename().string();
  return name.empty() ? fs::absolute(folder).lexically_normal().parent_path().filename().string() : name;
}

/// Whoever brings a table alone is told what to write beside it. Among pictures a table may lie.
void require_no_table(const fs::path& folder) {
  std::vector<fs::path> tables;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".csv") {
      tables.push_back(entry.path().filename());
    }
  }
  if (tables.empty() || !pictures_below(folder).empty()) {
    return;
  }
  const std::string table = std::min_element(tables.begin(), tables.end())->string();
  fail(ErrorCode::invalid_config,
       "[dataset] {0}: the table {1} must have a {2} beside it, which says what it is, for a start:\n[dataset]\nkind = "
       "\"csv\"\nfile = \"{1}\"\nand, where it has labels, their column: label_column = \"...\"",
       folder.string(), table, kOwnDatasetFile);
}

/// What a folder without a dataset.toml holds: a tree of pictures, or a visitor's pictures wherever they lie.
OwnDatasetOptions describe_pictures(const fs::path& folder, const LoadOptions& options) {
  OwnDatasetOptions own;
  own.kind = OwnKind::pictures;
  own.image_size = options.image_size;
  require_no_table(folder);
  if (options.role == FolderRole::visitor) {
    return own;
  }
  const std::vector<std::string> top = sub_folders(folder);
  require(!top.empty(), ErrorCode::invalid_data, "[dataset] {} must have a {} or folders of pictures, got neither",
          folder.string(), kOwnDatasetFile);
  own.domain_folders = !sub_folders(folder / top.front()).empty();
  return own;
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

std::vector<std::string> model_classes_or(const OwnDatasetOptions& own, std::vector<std::string> names) {
  return own.model.classes.empty() ? std::move(names) : own.model.classes;
}

fs::path own_file(const fs::path& folder, std::string_view key, const std::string& file) {
  const fs::path path(file);
  const bool climbs = std::any_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
  require(!file.empty() && path.is_relative() && !climbs, ErrorCode::invalid_data,
          "[dataset] {}: {} must be a path below the folder, got \"{}\"", folder.string(), key, file);
  return folder / path;
}

OwnDatasetOptions parse_own_options(std::string_view text, const std::string& name, FolderRole role) {
  const Settings settings = parse_settings(text, name);
  Problems problems;
  SettingsReader reader(settings, problems);
  OwnDatasetOptions own;
  reader.read(own, "dataset");
  reader.reject_unknown();
  if (problems.messages().empty()) {
    require_keys(own, role, problems);
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

void divide_(Dataset& dataset, Samples&& all, const OwnDatasetOptions& own, FolderRole role) {
  if (role == FolderRole::scenario) {
    split_(dataset, all, own.split == OwnSplit::owner ? SplitRule::owner : SplitRule::group, own.test_fraction);
  } else {
    dataset.train = std::move(all);
  }
}

void mark_labels_(Dataset& dataset, std::vector<std::uint32_t> rows) {
  dataset.labelled = rows.size() == dataset.train.count();
  dataset.labelled_rows = std::move(rows);
}

Dataset read_own_dataset(const fs::path& folder, const LoadOptions& options) {
  const fs::path description = folder / kOwnDatasetFile;
  OwnDatasetOptions own;
  if (fs::is_regular_file(description)) {
    own = parse_own_options(read_text(description), description.string(), options.role);
  } else {
    own = describe_pictures(folder, options);
  }
  own.model = options.model;
  Dataset dataset;
  switch (own.kind) {
    case OwnKind::npy:
    case OwnKind::npz:
    case OwnKind::idx: dataset = read_own_arrays(folder, own, options.role); break;
    case OwnKind::csv: dataset = read_own_table(folder, own, options.role); break;
    case OwnKind::pictures: dataset = read_own_pictures(folder, own, options.role); break;
  }
  dataset.name = own.name.empty() ? default_name(folder) : own.name;
  check_classes(dataset, own, folder, options.role);
  if (options.role != FolderRole::visitor && own.kind != OwnKind::pictures && !tells_classes(own)) {
    ask_about_target(dataset, own.kind == OwnKind::csv ? "label_column " + own.label_column : "labels " + own.labels,
                     folder.string());
  }
  return dataset;
}

}  // namespace feroma::detail
