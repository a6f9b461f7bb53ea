#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "data/column_questions.h"
#include "data/own_dataset.h"
#include "data/sample_arrays.h"
#include "feroma/core/error.h"
#include "feroma/data/csv.h"
#include "feroma/data/picture.h"

namespace feroma::detail {
namespace {

namespace fs = std::filesystem;

constexpr double kMostValue = static_cast<double>(std::numeric_limits<float>::max());

/// What both splits must agree on: the meaning of words in the label, domain and owner columns.
struct Vocabulary {
  std::vector<std::string> classes;
  std::vector<std::string> domains;
  std::map<std::string, std::int32_t, std::less<>> owners;
};

std::string joined_cells(const CsvTable& table, std::size_t row, const std::vector<std::string>& columns) {
  std::string name;
  for (const std::string& column : columns) {
    name += fmt::format("{}{}", name.empty() ? "" : "/", table.cell(row, table.column(column)));
  }
  return name;
}

/// The distinct values of some columns over all tables, sorted.
std::set<std::string> distinct(const std::vector<CsvTable>& tables, const std::vector<std::string>& columns) {
  std::set<std::string> values;
  for (const CsvTable& table : tables) {
    for (std::size_t row = 0; row < table.rows(); ++row) {
      values.insert(joined_cells(table, row, columns));
    }
  }
  return values;
}

/// The classes that the label column names. An empty cell is a class of a scenario's, but never one of a federation's.
std::vector<std::string> classes_in(const std::vector<CsvTable>& tables, const std::vector<std::string>& columns,
                                    FolderRole role) {
  std::set<std::string> words = columns.empty() ? std::set<std::string>() : distinct(tables, columns);
  if (role != FolderRole::scenario) {
    words.erase("");
  }
  return {words.begin(), words.end()};
}

bool lacks_label(const CsvTable& table, std::size_t row, const std::vector<std::string>& columns) {
  return std::all_of(columns.begin(), columns.end(),
                     [&](const std::string& column) { return table.cell(row, table.column(column)).empty(); });
}

std::int32_t place_in(const std::vector<std::string>& names, std::string_view value, const CsvTable& table,
                      std::size_t row, std::string_view column, std::string_view whose = "") {
  const auto found = std::find(names.begin(), names.end(), value);
  require(found != names.end(), ErrorCode::invalid_data, "[csv] {}:{}: column \"{}\" must be one of {}{}, got \"{}\"",
          table.name(), table.line(row), column, whose, fmt::join(names, ", "), value);
  return static_cast<std::int32_t>(found - names.begin());
}

void append_label_(Samples& samples, const CsvTable& table, std::size_t row, const OwnDatasetOptions& own,
                   const Vocabulary& words, int classes) {
  const std::vector<std::string> columns = split_list(own.label_column);
  if (columns.size() > 1) {
    samples.labels.push_back(0);
    for (const std::string& column : columns) {
      const std::int64_t value = table.integer(row, table.column(column));
      require(value == 0 || value == 1, ErrorCode::invalid_data, "[csv] {}:{}: column \"{}\" must be 0 or 1, got {}",
              table.name(), table.line(row), column, value);
      samples.targets.push_back(static_cast<std::uint8_t>(value));
    }
    return;
  }
  const std::size_t column = table.column(columns.front());
  if (!words.classes.empty()) {
    samples.labels.push_back(place_in(words.classes, table.cell(row, column), table, row, columns.front(),
                                      own.model.classes.empty() ? "" : "the model's classes "));
    return;
  }
  const std::int64_t label = table.integer(row, column);
  require(label >= 0 && label < classes, ErrorCode::invalid_data, "[csv] {}:{}: column \"{}\" must be in 0..{}, got {}",
          table.name(), table.line(row), columns.front(), classes - 1, label);
  samples.labels.push_back(static_cast<std::int32_t>(label));
}

/// The columns that a model takes, in its order, whatever else the table has.
std::vector<std::size_t> model_columns(const CsvTable& table, const std::vector<std::string>& names) {
  std::vector<std::size_t> columns;
  for (const std::string& name : names) {
    require(table.has_column(name), ErrorCode::invalid_data,
            "[csv] {}: must have a column \"{}\" like the training data, got {}", table.name(), name,
            fmt::join(table.columns(), ", "));
    columns.push_back(table.column(name));
  }
  return columns;
}

/// The columns that hold numbers: a model's, or the listed ones, or all that nothing else claims.
std::vector<std::size_t> input_columns(const CsvTable& table, const fs::path& folder, const OwnDatasetOptions& own) {
  std::vector<std::size_t> columns = model_columns(table, own.model.columns);
  if (!columns.empty()) {
    return columns;
  }
  for (const std::string& column : split_list(own.input_columns)) {
    columns.push_back(table.column(column));
  }
  if (!columns.empty()) {
    return columns;
  }
  std::set<std::string> claimed{own.owner_column, own.picture_column};
  for (const std::string& list : {own.label_column, own.domain_columns}) {
    for (const std::string& column : split_list(list)) {
      claimed.insert(column);
    }
  }
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    if (!claimed.contains(table.columns()[i])) {
      columns.push_back(i);
    }
  }
  require(!columns.empty(), ErrorCode::invalid_data, "[csv] {}: must have columns of numbers, got none", table.name());
  ask_about_inputs(table, columns, (folder / kOwnDatasetFile).string());
  return columns;
}

void append_inputs_(Samples& samples, const CsvTable& table, const fs::path& folder, const OwnDatasetOptions& own) {
  if (!own.picture_column.empty()) {
    samples.shape = {.channels = own.channels, .height = own.image_size, .width = own.image_size};
    const std::size_t column = table.column(own.picture_column);
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const fs::path path = own_file(folder, own.picture_column, std::string(table.cell(row, column)));
      append_picture_file_(samples.pixels, path, own.channels, own.image_size, own.image_size);
    }
    return;
  }
  const std::vector<std::size_t> columns = input_columns(table, folder, own);
  samples.shape = own.shape.empty() ? SampleShape{.channels = 1, .height = 1, .width = static_cast<int>(columns.size())}
                                    : parse_shape(own.shape, "dataset.shape");
  require(static_cast<std::size_t>(samples.shape.size()) == columns.size(), ErrorCode::invalid_data,
          "[csv] {}: dataset.shape must have the {} values of a row, got {}", table.name(), columns.size(),
          samples.shape.size());
  for (const std::size_t column : columns) {
    samples.columns.push_back(table.columns()[column]);
  }
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (const std::size_t column : columns) {
      const double value = table.number(row, column);
      require(std::abs(value) <= kMostValue, ErrorCode::invalid_data,
              "[csv] {}:{}: column \"{}\" must fit into a 32-bit number, got {}", table.name(), table.line(row),
              table.columns()[column], value);
      samples.values.push_back(static_cast<float>(value));
    }
  }
}

/// The samples of a table and, where some may lack labels, the rows that have one.
struct TableRows {
  Samples samples;
  std::vector<std::uint32_t> labelled;
};

TableRows read_table(const CsvTable& table, const fs::path& folder, const OwnDatasetOptions& own, Vocabulary& words,
                     int classes, FolderRole role) {
  require(table.rows() > 0, ErrorCode::invalid_data, "[csv] {}: must have at least one row, got none", table.name());
  TableRows out;
  Samples& samples = out.samples;
  const std::vector<std::string> label_columns = split_list(own.label_column);
  for (const std::string& column : label_columns) {
    static_cast<void>(table.column(column));  // first: labels under another name would be taken for inputs
  }
  append_inputs_(samples, table, folder, own);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (role == FolderRole::visitor && lacks_label(table, row, label_columns)) {
      samples.labels.push_back(0);
      samples.targets.insert(samples.targets.end(), label_columns.size() > 1 ? label_columns.size() : 0, 0);
    } else {
      append_label_(samples, table, row, own, words, classes);
      out.labelled.push_back(static_cast<std::uint32_t>(row));
    }
    if (!words.domains.empty()) {
      const std::string name = joined_cells(table, row, split_list(own.domain_columns));
      samples.domains.push_back(place_in(words.domains, name, table, row, own.domain_columns));
    }
    if (!own.owner_column.empty()) {
      const std::string owner(table.cell(row, table.column(own.owner_column)));
      const auto next = static_cast<std::int32_t>(words.owners.size());
      samples.owners.push_back(words.owners.emplace(owner, next).first->second);
    }
  }
  return out;
}

/// Several columns of labels in the order of the model's classes, by their names.
std::string arranged_labels(const OwnDatasetOptions& own, const std::string& table) {
  std::vector<std::string> columns = split_list(own.label_column);
  if (columns.size() < 2 || own.model.classes.empty()) {
    return own.label_column;
  }
  const bool is_same =
      std::is_permutation(columns.begin(), columns.end(), own.model.classes.begin(), own.model.classes.end());
  require(is_same, ErrorCode::invalid_data, "[csv] {}: dataset.label_column must name the model's classes {}, got {}",
          table, fmt::join(own.model.classes, ", "), fmt::join(columns, ", "));
  return fmt::format("{}", fmt::join(own.model.classes, ", "));
}

/// Whether labels are words rather than numbers: those that a dataset.toml counts are numbers unless a model knows all
/// of them as words.
bool are_words(const std::vector<std::string>& occurring, const OwnDatasetOptions& own) {
  const std::vector<std::string>& known = own.model.classes;
  return own.classes == 0 || (!known.empty() && std::all_of(occurring.begin(), occurring.end(), [&](const auto& word) {
           return std::find(known.begin(), known.end(), word) != known.end();
         }));
}

/// Fills in the classes: what a model, the columns or the dataset.toml say, else the words that occur.
void name_classes_(Dataset& dataset, Vocabulary& words, const std::vector<CsvTable>& tables,
                   const OwnDatasetOptions& own, FolderRole role) {
  const std::vector<std::string> label_columns = split_list(own.label_column);
  words.classes = split_list(own.class_names);
  if (label_columns.size() > 1) {
    dataset.classes = static_cast<int>(label_columns.size());
    dataset.class_names = label_columns;
    return;
  }
  if (words.classes.empty()) {
    const std::vector<std::string> occurring = classes_in(tables, label_columns, role);
    words.classes = are_words(occurring, own) ? occurring : std::vector<std::string>();
  }
  if (!words.classes.empty()) {
    words.classes = model_classes_or(own, std::move(words.classes));
  }
  dataset.classes = words.classes.empty() ? std::max(own.classes, 1) : static_cast<int>(words.classes.size());
  dataset.class_names = words.classes;
}

}  // namespace

Dataset read_own_table(const fs::path& folder, const OwnDatasetOptions& given, FolderRole role) {
  const bool visits = role == FolderRole::visitor;
  OwnDatasetOptions own = given;
  own.label_column = arranged_labels(given, own.file);
  std::vector<CsvTable> tables;
  tables.push_back(read_csv(own_file(folder, "dataset.file", own.file)));
  if (!own.test_file.empty() && !visits) {
    tables.push_back(read_csv(own_file(folder, "dataset.test_file", own.test_file)));
  }
  Dataset dataset;
  Vocabulary words;
  words.domains = split_list(own.domain_names);
  if (words.domains.empty() && !own.domain_columns.empty()) {
    const std::set<std::string> found = distinct(tables, split_list(own.domain_columns));
    words.domains.assign(found.begin(), found.end());
  }
  dataset.domain_names = words.domains;
  name_classes_(dataset, words, tables, own, role);
  TableRows all = read_table(tables.front(), folder, own, words, dataset.classes, role);
  if (tables.size() == 1) {
    divide_(dataset, std::move(all.samples), own, role);
  } else {
    dataset.train = std::move(all.samples);
    own.model.columns = dataset.train.columns;
    dataset.test = read_table(tables.back(), folder, own, words, dataset.classes, role).samples;
  }
  if (visits) {
    mark_labels_(dataset, std::move(all.labelled));
  }
  if (role != FolderRole::scenario && !own.picture_column.empty()) {
    const std::size_t column = tables.front().column(own.picture_column);
    for (std::size_t row = 0; row < tables.front().rows(); ++row) {
      dataset.sample_names.emplace_back(tables.front().cell(row, column));
    }
  }
  return dataset;
}

}  // namespace feroma::detail
