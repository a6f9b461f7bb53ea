#include "feroma/runtime/experiment.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "feroma/core/config_identity.h"
#include "feroma/core/label.h"
#include "feroma/data/catalog.h"
#include "feroma/partition/scenario_defaults.h"

namespace feroma {
namespace {

/// Labels name files and rows, so two algorithms of one run must not share one.
void make_labels_unique(std::vector<AlgorithmPlan>& plans) {
  std::set<std::string> taken;
  for (AlgorithmPlan& plan : plans) {
    if (plan.label.empty()) {
      continue;  // unknown, and reported already
    }
    const std::string wanted = plan.label;
    for (int count = 2; !taken.insert(plan.label).second; ++count) {
      plan.label = fmt::format("{}-{}", wanted, count);
    }
  }
}

/// A method that warms up for the whole run never does what its name says.
void check_warmup(const AlgorithmPlan& plan, std::size_t index, int rounds, const Defaults& defaults,
                  Problems& problems) {
  const auto found = plan.settings.find("warmup_rounds");
  if (found == plan.settings.end() || std::get<std::int64_t>(found->second.value) < rounds) {
    return;
  }
  const std::string key = fmt::format("algorithm.{}.warmup_rounds", index);
  if (defaults.free(key)) {
    problems.add("scenario.rounds must be > 1 for {}, which warms up first, got {}", plan.label, rounds);
  } else {
    problems.add("{} must be < scenario.rounds ({}), got {}", key, rounds, to_string(found->second.value));
  }
}

/// Only what was written can be wrong, so what was not follows it.
void follow_what_was_written_(Experiment& experiment, Defaults& defaults) {
  follow_each_other_(experiment.scenario, defaults);
  for (AlgorithmPlan& plan : experiment.algorithms) {
    plan = adapted(plan, {experiment.scenario.rounds}, defaults);
  }
}

void check_label(const AlgorithmPlan& plan, Problems& problems) {
  if (!is_algorithm_label(plan.label)) {
    problems.add("algorithm label must be {}, got \"{}\"", kLabelRule, plan.label);
  }
}

/// Reports an unknown dataset or model together with everything else.
void check_names(const Experiment& experiment, Problems& problems) {
  const auto report = [&](const char* key, const auto& find) {
    try {
      find();
    } catch (const Error& error) {
      problems.add("{}: {}", key, error.what());
    }
  };
  report("scenario.dataset", [&] { check_dataset_name(experiment.scenario.dataset); });
  if (!experiment.has_script_model()) {
    report("training.model", [&] { static_cast<void>(make_model(experiment.training.model, {1, 32, 32}, 10)); });
  } else if (experiment.training.engine == EngineChoice::native) {
    problems.add("training.engine must be auto or torch for a TorchScript file, got \"native\"");
  }
}

void check_simd(SimdTarget wanted, Problems& problems) {
  const std::vector<SimdTarget> here = simd_targets();
  if (wanted != SimdTarget::automatic && std::find(here.begin(), here.end(), wanted) == here.end()) {
    problems.add("training.simd must be auto or one of what this machine has ({}), got \"{}\"", simd_target_names(),
                 name_of(wanted));
  }
}

/// A config that says how its methods behaved is not run by methods that behave otherwise.
void check_versions(const Settings& stated, const Experiment& experiment, Problems& problems) {
  if (stated.empty()) {
    return;
  }
  const Settings now = VersionedConfig(experiment.resolved()).versions;
  for (const auto& [key, setting] : stated) {
    const auto found = now.find(key);
    const std::string is = found == now.end() ? "1" : to_string(found->second.value);
    if (const std::string was = to_string(setting.value); was != is) {
      problems.add("{} must be {}, which is what this program does, or be left out, got {}", key, is, was);
    }
  }
}

/// What one record changes is only known where it meets no other before its sums.
void check_privacy(const Experiment& experiment, Problems& problems) {
  if (!experiment.privacy.guarded()) {
    return;
  }
  const std::string_view mode = name_of(experiment.privacy.mode);
  if (experiment.engine() == EngineKind::torch) {
    problems.add("training.engine must be native for privacy.mode {}: libtorch's rounding depends on the whole batch",
                 mode);
  }
  if (experiment.training.standardise) {
    problems.add("training.standardise must be false for privacy.mode {}: clients tell the exact sums of their inputs",
                 mode);
  }
}

/// The experiment with other values for what nobody wrote.
Experiment changed_to(const Experiment& wanted, const Settings& resolved, const Settings& changed) {
  if (changes_between(resolved, changed).empty()) {
    return wanted;
  }
  Experiment experiment = read_experiment(config_identity().readable(changed));
  experiment.training.simd = wanted.training.simd;  // perhaps left to the machine
  experiment.evaluation = wanted.evaluation;
  experiment.given = wanted.given;
  return experiment;
}

/// All tables but those of algorithms.
void read_tables_(Experiment& experiment, SettingsReader& reader) {
  reader.read(experiment.scenario, "scenario");
  reader.read(experiment.membership, "membership");
  reader.read(experiment.training, "training");
  reader.read(experiment.privacy, "privacy");
  reader.read(experiment.attack, "attack");
  reader.read(experiment.evaluation, "evaluation");
}

}  // namespace

std::vector<AdaptedDefault> Experiment::all_adapted() const {
  std::vector<AdaptedDefault> all = adapted;
  all.insert(all.end(), fitted.begin(), fitted.end());
  return all;
}

EngineKind Experiment::engine() const {
  switch (training.engine) {
    case EngineChoice::automatic: return has_script_model() ? EngineKind::torch : EngineKind::native;
    case EngineChoice::native: return EngineKind::native;
    case EngineChoice::torch: return EngineKind::torch;
  }
  unreachable();
}

ModelSpec Experiment::model(SampleShape input, int classes) const {
  return has_script_model() ? read_script_model(training.model, input, classes)
                            : make_model(training.model, input, classes);
}

SimdTarget Experiment::simd() const {
  return training.simd == SimdTarget::automatic ? simd_targets().front() : training.simd;
}

Settings Experiment::resolved() const {
  Settings settings;
  write_settings(scenario, "scenario", settings);
  write_settings(membership, "membership", settings);
  TrainingOptions concrete = training;
  if (concrete.engine == EngineChoice::automatic) {
    concrete.engine = engine() == EngineKind::torch ? EngineChoice::torch : EngineChoice::native;
  }
  concrete.simd = simd();
  write_settings(concrete, "training", settings);
  write_settings(privacy, "privacy", settings);
  write_settings(attack, "attack", settings);
  for (std::size_t i = 0; i < algorithms.size(); ++i) {
    const AlgorithmPlan& plan = algorithms[i];
    const std::string prefix = fmt::format("algorithm.{}.", i);
    settings[prefix + "name"] = {plan.name, "resolved"};
    settings[prefix + "label"] = {plan.label, "resolved"};
    if (!plan.preset.empty()) {
      settings[prefix + "preset"] = {plan.preset, "resolved"};
    }
    for (const auto& [key, setting] : plan.settings) {
      settings[prefix + key] = setting;
    }
  }
  return config_identity().with_versions(std::move(settings));
}

Settings Experiment::written() const {
  Settings settings = resolved();
  write_settings(evaluation, "evaluation", settings);
  return settings;
}

EvaluationOptions evaluation_of(const Settings& kept) {
  EvaluationOptions evaluation{0};
  Problems problems;
  SettingsReader(kept, problems).read(evaluation, "evaluation");
  problems.raise();
  return evaluation;
}

Settings portable(Settings resolved) {
  resolved.erase("training.simd");
  return resolved;
}

std::string changes_of_bits(const Settings& before, const Settings& now) {
  const auto has_fused_products = [](const Settings& resolved) {
    TrainingOptions training;
    Problems elsewhere;  // whether a machine has that instruction set is not the question
    SettingsReader(resolved, elsewhere).read(training, "training");
    return feroma::has_fused_products(training.simd);
  };
  return has_fused_products(before) == has_fused_products(now)
             ? config_identity().changes(portable(before), portable(now))
             : config_identity().changes(before, now);
}

std::vector<std::string> algorithm_labels(const Settings& settings) {
  Problems reported_by_read_experiment;
  SettingsReader reader(settings, reported_by_read_experiment);
  std::vector<AlgorithmPlan> plans;
  for (int i = 0; i < reader.table_count("algorithm"); ++i) {
    plans.push_back(plan_algorithm(reader, fmt::format("algorithm.{}", i), reported_by_read_experiment));
  }
  make_labels_unique(plans);
  std::vector<std::string> labels;
  for (const AlgorithmPlan& plan : plans) {
    labels.push_back(plan.label);
  }
  return labels;
}

std::string numbered_key(const Settings& settings, const std::string& key) {
  constexpr std::string_view kTable = "algorithm.";
  const std::string rest = key.starts_with(kTable) ? key.substr(kTable.size()) : "";
  if (rest.find('.') == std::string::npos ||
      rest.substr(0, rest.find('.')).find_first_not_of("0123456789") == std::string::npos) {
    return key;
  }
  const std::vector<std::string> labels = algorithm_labels(settings);
  std::vector<std::size_t> named;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!labels[i].empty() && rest.starts_with(labels[i] + ".")) {
      return fmt::format("{}{}{}", kTable, i, rest.substr(labels[i].size()));
    }
    const auto name = settings.find(fmt::format("{}{}.name", kTable, i));
    const auto* text = name == settings.end() ? nullptr : std::get_if<std::string>(&name->second.value);
    if (text != nullptr && rest.starts_with(*text + ".")) {
      named.push_back(i);
    }
  }
  require(named.size() == 1, ErrorCode::invalid_config, "{} must name {} algorithm by its number or label: {}", key,
          named.empty() ? "an" : "one", fmt::join(labels, ", "));
  return fmt::format("{}{}{}", kTable, named.front(), rest.substr(rest.find('.')));
}

std::vector<OptionInfo> scenario_file_options() {
  Problems none_without_keys;
  SettingsReader reader({}, none_without_keys);
  Experiment defaults;
  read_tables_(defaults, reader);
  return reader.options();
}

Experiment read_experiment(const Settings& settings) {
  const VersionedConfig config(settings);
  Problems problems;
  SettingsReader reader(config.rest, problems);
  Experiment experiment;
  read_tables_(experiment, reader);
  const int count = reader.table_count("algorithm");
  if (count == 0) {
    problems.add("algorithm: a run needs at least one [[algorithm]] table, got none");
  }
  for (int i = 0; i < count; ++i) {
    experiment.algorithms.push_back(plan_algorithm(reader, fmt::format("algorithm.{}", i), problems));
  }
  reader.reject_unknown();
  Defaults defaults(settings);
  follow_what_was_written_(experiment, defaults);
  make_labels_unique(experiment.algorithms);
  for (std::size_t i = 0; i < experiment.algorithms.size(); ++i) {
    check_label(experiment.algorithms[i], problems);
    check_warmup(experiment.algorithms[i], i, experiment.scenario.rounds, defaults, problems);
  }
  experiment.membership.check(experiment.scenario.clients, experiment.scenario.rounds, problems);
  experiment.attack.check(experiment.scenario.clients - experiment.membership.test_only, experiment.scenario.rounds,
                          problems);
  experiment.privacy.check(problems);
  check_privacy(experiment, problems);
  check_names(experiment, problems);
  check_simd(experiment.training.simd, problems);
  check_versions(config.versions, experiment, problems);
  problems.locate(settings);
  problems.raise();
  experiment.given = settings;
  experiment.adapted = defaults.adapted();
  return experiment;
}

Experiment as_begun(const Experiment& wanted, const Settings& begun) {
  const Settings resolved = wanted.resolved();
  return changed_to(wanted, resolved, config_identity().as_begun(resolved, wanted.given, begun));
}

Experiment read_kept_experiment(const Settings& kept) {
  return as_begun(read_experiment(config_identity().readable(kept)), kept);
}

}  // namespace feroma
