#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/local_training.h"
#include "feroma/core/defaults.h"
#include "feroma/core/options.h"

namespace feroma {

/// What defaults of an algorithm may depend on.
struct RunFacts {
  int rounds = 0;
  const ModelSpec* model = nullptr;  ///< null while it is not known
};

/// An algorithm with its options, ready to be built as often as needed.
struct AlgorithmPlan {
  using Adapt = std::function<AlgorithmPlan(const RunFacts& facts, Defaults& defaults)>;

  std::string name;
  std::string preset;  ///< empty for methods without presets
  std::string label;   ///< unique within a run; names files and rows
  Settings settings;   ///< every option as resolved, keys relative to the algorithm's table
  std::function<std::unique_ptr<Algorithm>()> make;
  Adapt adapt = {};  ///< absent where no default depends on the run
};

/// The plan with the defaults that a run asks for.
[[nodiscard]] AlgorithmPlan adapted(const AlgorithmPlan& plan, const RunFacts& facts, Defaults& defaults);

/// One row of the registry.
struct AlgorithmEntry {
  /// Reads the options of a preset and the user's changes to it.
  using Plan = std::function<AlgorithmPlan(const std::string& preset, SettingsReader& reader, const std::string& prefix,
                                           Problems& problems)>;

  std::string name;
  std::string category;
  std::string source;
  std::vector<std::string> presets;  ///< the first one is the default
  Plan plan;
  /// What serves a test client that nothing is known of, and so what the column `accuracy` is of; whose rule that is.
  std::string headline = {};
};

/// The built-in methods, then those that were registered.
[[nodiscard]] const std::vector<AlgorithmEntry>& known_algorithms();

/// Adds a method of the caller's own; a name that is taken is an invalid_config error. Nothing guards the table:
/// register before a config is read, on one thread.
void register_algorithm(AlgorithmEntry entry);

/// The plan of options under `prefix.`, which `adapt(facts, defaults, prefix)` changes where the options have one.
template <class Options, class Make>
[[nodiscard]] AlgorithmPlan plan_of_options(const Options& options, Make make, const std::string& prefix) {
  AlgorithmPlan plan;
  Settings settings;
  write_settings(options, "x", settings);
  for (auto& [key, setting] : settings) {
    plan.settings[key.substr(2)] = std::move(setting);
  }
  plan.make = [options, make] { return make(options); };
  if constexpr (requires { &Options::adapt; }) {
    plan.adapt = [options, make, prefix](const RunFacts& facts, Defaults& defaults) {
      Options changed = options;
      changed.adapt(facts, defaults, prefix);
      return plan_of_options(changed, make, prefix);
    };
  }
  return plan;
}

/// Reads changes to `options` under `prefix.`; `check(preset, problems, prefix)` is called where the options have one.
template <class Options, class Make>
[[nodiscard]] AlgorithmPlan plan_with(Options options, Make make, SettingsReader& reader, const std::string& prefix,
                                      Problems& problems) {
  const Options preset = options;
  reader.read(options, prefix);
  check_momentum(options, problems, prefix);
  if constexpr (requires { &Options::check; }) {
    options.check(preset, problems, prefix);
  }
  return plan_of_options(options, make, prefix);
}

/// The `plan` of a method without presets: `make(options)` builds it.
template <class Options, class Make>
[[nodiscard]] AlgorithmEntry::Plan plan_of(Make make) {
  return [make](const std::string&, SettingsReader& reader, const std::string& prefix, Problems& problems) {
    return plan_with(Options{}, make, reader, prefix, problems);
  };
}

/// Reads `prefix.name`, `prefix.preset`, `prefix.label` and the method's own options; mistakes become problems.
[[nodiscard]] AlgorithmPlan plan_algorithm(SettingsReader& reader, const std::string& prefix, Problems& problems);

/// Every key that the `[[algorithm]]` table of a method may have, with the defaults of its first preset.
[[nodiscard]] std::vector<OptionInfo> algorithm_options(const AlgorithmEntry& entry);

}  // namespace feroma
