#include <set>

#include "data/own_dataset.h"
#include "data/sample_arrays.h"
#include "feroma/core/error.h"
#include "feroma/data/catalog.h"
#include "feroma/drift/federation.h"
#include "feroma/net/server.h"
#include "feroma/runtime/fitted_run.h"

namespace feroma {
namespace {

constexpr std::string_view kServerPrefix = "server.";

/// "3x32x32", or one number for rows of a table.
SampleShape shape_of(const std::string& text) {
  const bool is_row = text.find_first_not_of("0123456789") == std::string::npos;
  return detail::parse_shape(is_row ? "1x1x" + text : text, "server.input");
}

/// Samples of a known dataset; where they cannot be turned, only somebody who wrote so could want them to be.
SampleShape seen_by_clients(const Experiment& experiment) {
  const SampleShape stored = find_dataset(experiment.scenario.dataset).shape;
  return experiment.given.contains("scenario.shift") || can_be_turned(stored) ? seen_shape(stored, experiment.scenario)
                                                                              : stored;
}

/// A name for every value of a sample, each another one, or none at all.
std::vector<std::string> columns_of(const std::string& list, SampleShape input) {
  std::vector<std::string> columns = detail::split_list(list);
  require(columns.empty() || static_cast<int>(columns.size()) == input.size(), ErrorCode::invalid_config,
          "server.columns must name the {} values of a sample, got {}", input.size(), columns.size());
  std::set<std::string> seen;
  for (const std::string& column : columns) {
    require(seen.insert(column).second, ErrorCode::invalid_config, "server.columns must differ, got \"{}\" twice",
            column);
  }
  return columns;
}

/// Of a scenario a server takes what it needs to let clients in; the rest is nothing to tell of.
bool is_for_simulations(std::string_view key) { return key.starts_with("scenario.") && key != "scenario.clients"; }

/// Real clients come, go and lie by themselves: a schedule for it would be read and never kept.
void refuse_schedules(const Experiment& experiment, Problems& problems) {
  Settings usual;
  write_settings(MembershipOptions{}, "membership", usual);
  write_settings(AttackOptions{}, "attack", usual);
  const Settings got = experiment.resolved();
  for (const auto& [key, setting] : usual) {
    const SettingValue& value = got.at(key).value;
    if (value != setting.value) {
      problems.add("{} must be {} in a federation over the network (it is for simulations), got {}", key,
                   to_string(setting.value), to_string(value));
    }
  }
  if (experiment.evaluation.every != EvaluationOptions::kAutomatic && experiment.evaluation.every != 0) {
    problems.add(
        "evaluation.every must be 0 or left out in a federation over the network, which has no test clients, "
        "got {}",
        experiment.evaluation.every);
  }
}

}  // namespace

FederationPlan read_federation_plan(const Settings& settings) {
  FederationPlan plan;
  Settings scenario;
  Settings server;
  for (const auto& [key, setting] : settings) {
    (key.starts_with(kServerPrefix) ? server : scenario)[key] = setting;
  }
  Problems problems;
  SettingsReader reader(server, problems);
  reader.read(plan.server, "server");
  reader.reject_unknown();
  problems.locate(settings);
  problems.raise();
  plan.experiment = read_experiment(scenario);
  refuse_schedules(plan.experiment, problems);
  if (plan.server.update_limit > 0 && plan.server.update_limit <= 1) {
    problems.add("server.update_limit must be 0 or > 1, got {}", plan.server.update_limit);
  }
  problems.locate(settings);
  problems.raise();
  require(plan.experiment.algorithms.size() == 1, ErrorCode::invalid_config,
          "a federation runs one algorithm, the config has {}", plan.experiment.algorithms.size());
  require(plan.experiment.algorithms.front().name != "centralised", ErrorCode::invalid_config,
          "algorithm centralised takes everybody's data: it is for simulations");
  require(plan.experiment.privacy.noise == NoiseSource::os, ErrorCode::invalid_config,
          "privacy.noise seeded protects nothing: it is for simulations");
  const std::string& dataset = plan.experiment.scenario.dataset;
  const bool described = !plan.server.input.empty() && plan.server.classes > 0;
  require(described || !is_own_dataset(dataset), ErrorCode::invalid_config,
          "server.input and server.classes must say what clients' samples are like");
  plan.input = plan.server.input.empty() ? seen_by_clients(plan.experiment) : shape_of(plan.server.input);
  plan.classes = plan.server.classes > 0 ? plan.server.classes : find_dataset(dataset).classes;
  plan.multi_label = plan.server.multi_label || (!is_own_dataset(dataset) && find_dataset(dataset).multi_label);
  plan.columns = columns_of(plan.server.columns, plan.input);
  plan.experiment = fit_to_samples(std::move(plan.experiment), plan.input, plan.classes);
  std::erase_if(plan.experiment.adapted, [](const AdaptedDefault& one) { return is_for_simulations(one.key); });
  return plan;
}

void check_model(const FederationPlan& plan, const ListenOptions& listen) {
  require(!plan.experiment.has_script_model() || listen.flower, ErrorCode::invalid_config,
          "training.model must be a name of `feroma list models` where no clients of Flower come (--flower-address): "
          "ours load no file that a server names, got \"{}\"",
          plan.experiment.training.model);
  require(!plan.experiment.training.standardise || !listen.flower, ErrorCode::invalid_config,
          "training.standardise must be false where clients of Flower come (--flower-address): they cannot be told how "
          "inputs are scaled");
}

FederationPlan as_begun(FederationPlan plan, const std::string& begun_with) {
  plan.experiment = as_begun(plan.experiment, parse_settings(begun_with, "the federation's config"));
  return plan;
}

std::string changes_since(const std::string& begun_with, const FederationPlan& plan) {
  const Settings begun = parse_settings(begun_with, "the federation's config");
  return changes_of_bits(begun, as_begun(plan.experiment, begun).resolved());
}

}  // namespace feroma
