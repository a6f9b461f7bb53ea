#include "feroma/partition/scenario_defaults.h"

#include <fmt/core.h>

#include <algorithm>

#include "feroma/partition/bank.h"
#include "feroma/partition/partitioners.h"

namespace feroma {
namespace {

bool has_owners(const Dataset& dataset) { return !dataset.train.owners.empty() && !dataset.test.owners.empty(); }

/// How clients differ in data that are no pictures, where nobody says it: as the data themselves do, or by classes.
Shift shift_for(const ScenarioOptions& options, const Dataset& dataset, const Defaults& defaults) {
  const bool drifts = options.drift_mode != DriftMode::fixed && !defaults.free("scenario.drift_mode");
  if (has_owners(dataset) && !drifts) {
    return Shift::natural_id;
  }
  if (dataset.domain_names.size() > 1) {
    return Shift::natural;
  }
  return dataset.train.multi_label() ? Shift::iid : Shift::label_prior;
}

void follow_owners_(ScenarioOptions& options, const Dataset& dataset, Defaults& defaults) {
  const int owners = static_cast<int>(owner_count(dataset.train));
  defaults.adapt("scenario.clients", options.clients, std::min(options.clients, owners),
                 fmt::format("{} has training samples of {} owners", dataset.name, owners));
  const int tested = static_cast<int>(owner_count(dataset.test));
  const int wanted = options.test_clients == 0 ? options.clients : options.test_clients;
  if (!same_owners(dataset) && wanted > tested) {
    defaults.adapt("scenario.test_clients", options.test_clients, tested,
                   fmt::format("{} has test samples of {} owners", dataset.name, tested));
  }
}

}  // namespace

void follow_each_other_(ScenarioOptions& options, Defaults& defaults) {
  if (!may_drift(options.shift)) {
    defaults.adapt("scenario.drift_mode", options.drift_mode, DriftMode::fixed,
                   fmt::format("shift \"{}\" does not change over time", name_of(options.shift)));
  } else if (options.strict) {
    defaults.adapt("scenario.drift_mode", options.drift_mode, DriftMode::fixed, "scenario.strict is for static data");
  }
  if (!has_stages(options.drift_mode)) {
    defaults.adapt("scenario.drifts", options.drifts, 1,
                   fmt::format("drift_mode \"{}\" has a single stage", name_of(options.drift_mode)));
  } else {
    defaults.adapt("scenario.drifts", options.drifts, std::min(options.drifts, options.rounds),
                   fmt::format("there are {} rounds", options.rounds));
  }
}

void follow_data_(ScenarioOptions& options, const Dataset& dataset, Defaults& defaults) {
  if (changes_pictures(options.shift) && !can_be_turned(dataset.train.shape)) {
    const SampleShape& shape = dataset.train.shape;
    defaults.adapt("scenario.shift", options.shift, shift_for(options, dataset, defaults),
                   fmt::format("{} has samples of {}x{}x{} and no square pictures", dataset.name, shape.channels,
                               shape.height, shape.width));
    follow_each_other_(options, defaults);
  }
  if (options.shift == Shift::natural_id && has_owners(dataset)) {
    follow_owners_(options, dataset, defaults);
  }
  if (has_bank(options) && bank_parameters(options, dataset.classes).classes_per_entry <= dataset.classes) {
    const std::optional<std::int64_t> sets = most_class_sets(options, dataset.classes);
    if (sets && bank_parameters(options, dataset.classes).entries > *sets) {
      defaults.adapt("scenario.bank", options.bank, static_cast<int>(*sets),
                     fmt::format("{} classes make so many different sets", dataset.classes));
    }
  }
}

}  // namespace feroma
