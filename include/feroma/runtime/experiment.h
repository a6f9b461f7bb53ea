#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "feroma/algorithms/registry.h"
#include "feroma/client/trainer.h"
#include "feroma/core/options.h"
#include "feroma/core/simd.h"
#include "feroma/drift/membership.h"
#include "feroma/engine/engine.h"
#include "feroma/partition/scenario.h"
#include "feroma/privacy/options.h"
#include "feroma/runtime/attack.h"

namespace feroma {

enum class EngineChoice { automatic, native, torch };
constexpr auto enum_names(EngineChoice) {
  using enum EngineChoice;
  return std::array<std::pair<EngineChoice, std::string_view>, 3>{
      {{automatic, "auto"}, {native, "native"}, {torch, "torch"}}};
}

/// The `[training]` table.
struct TrainingOptions {
  std::string model = "lenet5";
  EngineChoice engine = EngineChoice::automatic;
  SimdTarget simd = SimdTarget::automatic;
  bool standardise = false;
  FitOptions fit;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("model", self.model, anything(), "name of a model (`feroma list models`), or a TorchScript file (.pt)");
    visit("engine", self.engine, anything(), "what computes; auto takes the fastest this build has");
    visit("simd", self.simd, anything(), "instruction set of our kernels; auto takes the best this machine has");
    visit("standardise", self.standardise, anything(),
          "bring every input channel, or column of a table, to mean 0 and spread 1 by the sums of the first clients");
    visit("local_epochs", self.fit.local_epochs, at_least(0), "passes over local data per round");
    visit("batch_size", self.fit.batch_size, at_least(1), "samples per step; the last batch may be smaller");
    visit("learning_rate", self.fit.learning_rate, above(0), "step size of SGD");
    visit("momentum", self.fit.momentum, between(0, 1),
          "momentum of SGD: the share of the last step that goes into the next");
    visit("momentum_reset", self.fit.momentum_reset, anything(), "when the momentum buffer restarts from zero");
  }
};

/// The `[evaluation]` table: what is measured beside a run, and changes no bit of it.
struct EvaluationOptions {
  static constexpr int kAutomatic = -1;
  int every = kAutomatic;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("every", self.every, at_least(kAutomatic),
          "rounds from one test of what is served to the next, the last round included; 0 never, -1 as often as costs "
          "at most 5 % of a run");
  }
};

/// A scenario file, read and checked.
struct Experiment {
  ScenarioOptions scenario;
  MembershipOptions membership;
  TrainingOptions training;
  PrivacyOptions privacy;
  AttackOptions attack;
  EvaluationOptions evaluation;
  std::vector<AlgorithmPlan> algorithms;
  Settings given;                       ///< as written by the user, for messages that name the line
  std::vector<AdaptedDefault> adapted;  ///< defaults that followed from what was written
  std::vector<AdaptedDefault> fitted;   ///< and those that followed from the data

  /// Both of these.
  [[nodiscard]] std::vector<AdaptedDefault> all_adapted() const;
  /// Every value that decides the bits spelled out, nothing left automatic: running it again gives the same.
  [[nodiscard]] Settings resolved() const;
  /// The same with what changes no bit, as a run directory keeps it.
  [[nodiscard]] Settings written() const;
  [[nodiscard]] EngineKind engine() const;
  /// Whether the model is a TorchScript file of the user's own rather than a name we know.
  [[nodiscard]] bool has_script_model() const { return training.model.ends_with(".pt"); }
  /// The model for samples of this shape; a file is read and checked.
  [[nodiscard]] ModelSpec model(SampleShape input, int classes) const;
  [[nodiscard]] SimdTarget simd() const;
};

/// What a run's config says of it; where it is older than the table, nothing was measured beside the run.
[[nodiscard]] EvaluationOptions evaluation_of(const Settings& kept);
/// A resolved config but for the instruction set, which is each machine's own.
[[nodiscard]] Settings portable(Settings resolved);
/// Why what one resolved config began may not go on with another, as changes_between says it; empty where they are
/// alike but for instruction sets that give the same bits.
[[nodiscard]] std::string changes_of_bits(const Settings& before, const Settings& now);

/// The labels of a config's algorithms, in order, as a run calls them; empty for one that nobody knows.
[[nodiscard]] std::vector<std::string> algorithm_labels(const Settings& settings);

/// A key that calls an algorithm by its label or name, "algorithm.feroma-auto.warmup_rounds", as the config has it:
/// "algorithm.0.warmup_rounds". Others stay; a name that several have, or none, is an invalid_config error.
[[nodiscard]] std::string numbered_key(const Settings& settings, const std::string& key);
/// Every key that a scenario file may have outside of its [[algorithm]] tables, in the order of the tables.
[[nodiscard]] std::vector<OptionInfo> scenario_file_options();

/// Reads a whole config; all mistakes are reported in one invalid_config error.
[[nodiscard]] Experiment read_experiment(const Settings& settings);
/// What is wanted, for going on with what was begun with another config, perhaps by an earlier version: keys that came
/// since, and that nobody wrote, are what the code did then.
[[nodiscard]] Experiment as_begun(const Experiment& wanted, const Settings& begun);
/// Reads a config that a run or a federation was kept with, perhaps by an earlier version.
[[nodiscard]] Experiment read_kept_experiment(const Settings& kept);

}  // namespace feroma
