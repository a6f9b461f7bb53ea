#include "feroma/partition/scenario_data.h"

#include <algorithm>

#include "feroma/core/error.h"
#include "feroma/data/catalog.h"
#include "feroma/data/split.h"

namespace feroma {
namespace {

/// A reader that takes no notice of an option is seen by what it returned.
void check_use(const ScenarioOptions& options, const Dataset& dataset, Problems& problems) {
  const SampleShape shape = dataset.train.shape;
  if (options.image_size > 0 && (shape.height != options.image_size || shape.width != options.image_size)) {
    problems.add("scenario.image_size must be 0 because {} has samples of one size, {}x{}, got {}", dataset.name,
                 shape.height, shape.width, options.image_size);
  }
  if (options.first_classes > 0 && dataset.classes != options.first_classes) {
    problems.add("scenario.first_classes must be 0, or at most the classes of a picture folder; {} has {}, got {}",
                 dataset.name, dataset.classes, options.first_classes);
  }
  if (options.age_threshold > 0 && (is_own_dataset(options.dataset) || !find_dataset(options.dataset).knows_age)) {
    problems.add("scenario.age_threshold must be 0 because {} has no ages to divide, got {}", dataset.name,
                 options.age_threshold);
  }
  if (options.shift == Shift::natural && options.level != Level::medium && domain_factors(dataset) < 2) {
    problems.add("scenario.level must be \"medium\" because the domains of {} have no levels, got \"{}\"", dataset.name,
                 name_of(options.level));
  }
  if (options.domain_factors > domain_factors(dataset)) {
    problems.add("scenario.domain_factors must be at most {} for {}, got {}", domain_factors(dataset), dataset.name,
                 options.domain_factors);
  }
}

int wanted_factors(const ScenarioOptions& options, int present) {
  const int by_level = 1 + static_cast<int>(options.level);
  return std::min(options.domain_factors > 0 ? options.domain_factors : by_level, present);
}

}  // namespace

std::shared_ptr<const Dataset> scenario_data(std::shared_ptr<const Dataset> files, const ScenarioOptions& options,
                                             Problems& problems) {
  check_use(options, *files, problems);
  const int present = domain_factors(*files);
  if (options.shift != Shift::natural || present < 2 || wanted_factors(options, present) == present) {
    return files;
  }
  auto merged = std::make_shared<Dataset>(*files);
  keep_domain_factors_(*merged, wanted_factors(options, present));
  return merged;
}

std::shared_ptr<const Dataset> load_scenario_data(const ScenarioOptions& options, Problems& problems,
                                                  SharedDatasets* shared) {
  return scenario_data(shared == nullptr ? read_scenario_files(options) : shared->get(options), options, problems);
}

}  // namespace feroma
