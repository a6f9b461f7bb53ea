#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <variant>

#include "data/own_dataset.h"
#include "data/sample_arrays.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/data/idx.h"
#include "feroma/data/npz.h"

namespace feroma::detail {
namespace {

namespace fs = std::filesystem;

NpyArray idx_array(const fs::path& path) {
  const IdxFile file = parse_idx(read_file(path), path.string());
  NpyArray array;
  array.name = path.string();
  array.shape.assign(file.dims.begin(), file.dims.end());
  array.values = std::vector<std::uint8_t>(file.values().begin(), file.values().end());
  return array;
}

/// Gives arrays by what a dataset.toml calls them: a file, or a member of the one .npz.
class ArrayShelf {
 public:
  ArrayShelf(fs::path folder, const OwnDatasetOptions& own) : folder_(std::move(folder)), kind_(own.kind) {
    if (kind_ == OwnKind::npz) {
      archive_path_ = own_file(folder_, "dataset.file", own.file);
      held_ = read_npz(archive_path_);
    }
  }

  /// Null where nothing is named.
  const NpyArray* get(std::string_view key, const std::string& name) {
    if (name.empty()) {
      return nullptr;
    }
    const auto found = held_.find(name);
    if (found != held_.end()) {
      return &found->second;
    }
    if (kind_ == OwnKind::npz) {
      refuse(key, name);
    }
    const fs::path path = own_file(folder_, key, name);
    return &held_.emplace(name, kind_ == OwnKind::idx ? idx_array(path) : read_npy(path)).first->second;
  }

 private:
  [[noreturn]] void refuse(std::string_view key, const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& [held, array] : held_) {
      names.push_back(held);
    }
    fail(ErrorCode::invalid_data, "[dataset] {}: {} must be one of {}, got \"{}\"", archive_path_.string(), key,
         fmt::join(names, ", "), name);
  }

  fs::path folder_;
  OwnKind kind_;
  fs::path archive_path_;
  std::map<std::string, NpyArray> held_;
};

/// The number of classes that a dataset.toml or the labels themselves tell.
int class_count(const OwnDatasetOptions& own, const NpyArray& labels) {
  if (const std::size_t names = split_list(own.class_names).size(); names > 0) {
    return static_cast<int>(names);
  }
  if (own.classes > 0) {
    return own.classes;
  }
  if (labels.shape.size() == 2) {
    return static_cast<int>(std::min<std::int64_t>(labels.shape[1], 100'000));
  }
  const std::vector<double> values = labels.to_doubles();
  const auto largest = std::max_element(values.begin(), values.end());
  const double most = values.empty() ? 0 : *largest;
  require(most >= 0 && most < 100'000, ErrorCode::invalid_data,
          "[npy] {}: labels must be in 0..99999, got {} in row {}", labels.name, most, largest - values.begin());
  return static_cast<int>(most) + 1;
}

/// Names of the domains: the given ones, or their numbers.
std::vector<std::string> domain_names_of(const OwnDatasetOptions& own, const Dataset& dataset) {
  std::vector<std::string> names = split_list(own.domain_names);
  if (!names.empty() || dataset.train.domains.empty()) {
    return names;
  }
  constexpr std::int32_t kMostDomains = 10'000;
  std::int32_t most = 0;
  for (const Samples* samples : {&dataset.train, &dataset.test}) {
    for (const std::int32_t domain : samples->domains) {
      most = std::max(most, domain);
    }
  }
  require(most < kMostDomains, ErrorCode::invalid_data, "[dataset] domains must be below {}, got {}", kMostDomains,
          most);
  for (std::int32_t i = 0; i <= most; ++i) {
    names.push_back(std::to_string(i));
  }
  return names;
}

/// Inputs must be numbers; the array's row is told, which is not always the sample's place in a split.
Samples finite_samples(const SampleArrays& arrays, std::optional<SampleShape> shape, int classes) {
  Samples samples = to_samples(arrays, shape, classes);
  const auto bad =
      std::find_if_not(samples.values.begin(), samples.values.end(), [](float value) { return std::isfinite(value); });
  require(bad == samples.values.end(), ErrorCode::invalid_data,
          "[npy] {}: inputs must be finite 32-bit numbers, got {} in row {}", arrays.inputs->name,
          bad == samples.values.end() ? 0.0F : *bad, (bad - samples.values.begin()) / samples.shape.size());
  return samples;
}

/// A visitor's labels, with 0 where there is none, and the rows that have one.
struct VisitorLabels {
  NpyArray labels;
  std::vector<std::uint32_t> rows;
};

/// Labels that the reader takes, of an array in which -1 means none; without an array no row has a label.
VisitorLabels visitor_labels(const NpyArray* given, const NpyArray& inputs) {
  VisitorLabels found;
  if (given == nullptr) {
    // An array without values may claim any number of rows; it is refused where samples are made.
    const bool empty = std::visit([](const auto& values) { return values.empty(); }, inputs.values);
    const std::int64_t count = empty || inputs.shape.empty() ? 0 : inputs.shape.front();
    found.labels = {"no labels", {count}, std::vector<std::int32_t>(static_cast<std::size_t>(count))};
    return found;
  }
  std::vector<double> values = given->to_doubles();
  const std::size_t width = given->shape.size() == 2 ? static_cast<std::size_t>(given->shape[1]) : 1;
  for (std::size_t first = 0; width > 0 && first + width <= values.size(); first += width) {
    const std::span row = std::span(values).subspan(first, width);
    if (std::all_of(row.begin(), row.end(), [](double label) { return label == -1; })) {
      std::fill(row.begin(), row.end(), 0.0);
    } else {
      found.rows.push_back(static_cast<std::uint32_t>(first / width));
    }
  }
  found.labels = {given->name, given->shape, std::move(values)};
  return found;
}

/// Labels by the names that class_names gives their numbers, as the model numbers those. What the model does not know
/// is refused with the row of its label.
void number_as_model_(Dataset& dataset, const std::vector<std::string>& known, std::span<const std::uint32_t> labelled,
                      const std::string& file) {
  Samples& samples = dataset.train;
  const std::vector<std::string> own = std::move(dataset.class_names);
  std::vector<std::int32_t> numbers;
  for (const std::string& name : own) {
    const auto found = std::find(known.begin(), known.end(), name);
    numbers.push_back(found == known.end() ? -1 : static_cast<std::int32_t>(found - known.begin()));
  }
  const auto number_of = [&](std::size_t label, std::size_t row) {
    require(numbers[label] >= 0, ErrorCode::invalid_data,
            "[npy] {}: labels must be of the model's classes {}, got {} (\"{}\") in row {}", file,
            fmt::join(known, ", "), label, own[label], row);
    return static_cast<std::size_t>(numbers[label]);
  };
  std::vector<std::uint8_t> targets(samples.multi_label() ? samples.count() * known.size() : 0);
  for (const std::uint32_t row : labelled) {
    if (!samples.multi_label()) {
      samples.labels[row] = static_cast<std::int32_t>(number_of(static_cast<std::size_t>(samples.labels[row]), row));
      continue;
    }
    for (std::size_t label = 0; label < own.size(); ++label) {
      if (samples.targets[row * own.size() + label] != 0) {
        targets[row * known.size() + number_of(label, row)] = 1;
      }
    }
  }
  samples.targets = std::move(targets);
  dataset.class_names = known;
  dataset.classes = static_cast<int>(known.size());
}

}  // namespace

Dataset read_own_arrays(const fs::path& folder, const OwnDatasetOptions& own, FolderRole role) {
  ArrayShelf shelf(folder, own);
  SampleArrays train{.inputs = shelf.get("dataset.inputs", own.inputs),
                     .labels = shelf.get("dataset.labels", own.labels),
                     .domains = shelf.get("dataset.domains", own.domains),
                     .owners = shelf.get("dataset.owners", own.owners)};
  const bool visits = role == FolderRole::visitor;
  VisitorLabels visitor;
  if (visits) {
    visitor = visitor_labels(train.labels, *train.inputs);
    train.labels = &visitor.labels;
  }
  const std::optional<SampleShape> shape =
      own.shape.empty() ? std::nullopt : std::optional(parse_shape(own.shape, "dataset.shape"));
  Dataset dataset;
  dataset.classes = class_count(own, *train.labels);
  dataset.class_names = split_list(own.class_names);
  Samples all = finite_samples(train, shape, dataset.classes);
  if (own.test_inputs.empty() || visits) {
    divide_(dataset, std::move(all), own, role);
  } else {
    dataset.train = std::move(all);
    dataset.test = finite_samples({.inputs = shelf.get("dataset.test_inputs", own.test_inputs),
                                   .labels = shelf.get("dataset.test_labels", own.test_labels),
                                   .domains = shelf.get("dataset.test_domains", own.test_domains),
                                   .owners = shelf.get("dataset.test_owners", own.test_owners)},
                                  shape, dataset.classes);
  }
  dataset.domain_names = domain_names_of(own, dataset);
  if (!visits) {
    visitor.rows.resize(dataset.train.count());
    std::iota(visitor.rows.begin(), visitor.rows.end(), 0U);
  }
  if (!own.model.classes.empty() && !dataset.class_names.empty()) {
    number_as_model_(dataset, own.model.classes, visitor.rows, train.labels->name);
  }
  if (visits) {
    mark_labels_(dataset, std::move(visitor.rows));
  }
  return dataset;
}

}  // namespace feroma::detail
