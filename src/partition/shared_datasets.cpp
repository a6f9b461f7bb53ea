#include "feroma/partition/shared_datasets.h"

#include <fmt/core.h>

#include "feroma/data/catalog.h"

namespace feroma {
namespace {

LoadOptions load_options(const ScenarioOptions& options) {
  LoadOptions load;
  if (options.image_size > 0) {
    load.image_size = options.image_size;
  }
  if (options.age_threshold > 0) {
    load.age_threshold = options.age_threshold;
  }
  load.first_classes = options.first_classes;
  return load;
}

/// Everything that read_scenario_files looks at.
std::string reading_of(const ScenarioOptions& options) {
  const LoadOptions load = load_options(options);
  return fmt::format("{}\n{}\n{} {} {}", options.dataset, options.data_dir, load.image_size, load.age_threshold,
                     load.first_classes);
}

}  // namespace

std::shared_ptr<const Dataset> read_scenario_files(const ScenarioOptions& options) {
  return load_dataset(options.dataset, options.data_dir, load_options(options));
}

std::shared_ptr<const Dataset> SharedDatasets::get(const ScenarioOptions& options) {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const Dataset>& known = known_[reading_of(options)];
  std::shared_ptr<const Dataset> dataset = known.lock();
  if (!dataset) {
    // Before the new one is read, so that the two need not fit into memory together.
    last_.reset();
    dataset = read_scenario_files(options);
    known = dataset;
  }
  last_ = dataset;
  return dataset;
}

}  // namespace feroma
