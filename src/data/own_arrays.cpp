#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "data/own_dataset.h"
#include "data/sample_arrays.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/data/idx.h"
#include "feroma/data/npz.h"
#include "feroma/data/split.h"

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
  const double most = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  require(most >= 0 && most < 100'000, ErrorCode::invalid_data, "[npy] {}: labels must be in 0..99999, got {}",
          labels.name, most);
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

}  // namespace

Dataset read_own_arrays(const fs::path& folder, const OwnDatasetOptions& own) {
  ArrayShelf shelf(folder, own);
  const SampleArrays train{.inputs = shelf.get("dataset.inputs", own.inputs),
                           .labels = shelf.get("dataset.labels", own.labels),
                           .domains = shelf.get("dataset.domains", own.domains),
                           .owners = shelf.get("dataset.owners", own.owners)};
  const std::optional<SampleShape> shape =
      own.shape.empty() ? std::nullopt : std::optional(parse_shape(own.shape, "dataset.shape"));
  Dataset dataset;
  dataset.classes = class_count(own, *train.labels);
  dataset.class_names = split_list(own.class_names);
  Samples all = to_samples(train, shape, dataset.classes);
  if (own.test_inputs.empty()) {
    split_(dataset, all, own.split == OwnSplit::owner ? SplitRule::owner : SplitRule::group, own.test_fraction);
  } else {
    dataset.train = std::move(all);
    dataset.test = to_samples({.inputs = shelf.get("dataset.test_inputs", own.test_inputs),
                               .labels = shelf.get("dataset.test_labels", own.test_labels),
                               .domains = shelf.get("dataset.test_domains", own.test_domains),
                               .owners = shelf.get("dataset.test_owners", own.test_owners)},
                              shape, dataset.classes);
  }
  dataset.domain_names = domain_names_of(own, dataset);
  return dataset;
}

}  // namespace feroma::detail
