#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "feroma/core/options.h"

namespace feroma {

/// Which part of P(X, Y) differs between clients. Published ANDA swaps the two conditionals; its names need the prefix.
enum class Shift { covariate, label_prior, concept_label, concept_feature };
constexpr auto enum_names(Shift) {
  using enum Shift;
  return std::array<std::pair<Shift, std::string_view>, 12>{{{covariate, "covariate"},
                                                             {label_prior, "label_prior"},
                                                             {concept_label, "concept_label"},
                                                             {concept_feature, "concept_feature"},
                                                             {covariate, "P(X)"},
                                                             {label_prior, "P(Y)"},
                                                             {concept_label, "P(Y|X)"},
                                                             {concept_feature, "P(X|Y)"},
                                                             {covariate, "anda2024:Px"},
                                                             {label_prior, "anda2024:Py"},
                                                             {concept_label, "anda2024:Px_y"},
                                                             {concept_feature, "anda2024:Py_x"}}};
}

enum class Level { low, medium, high };
constexpr auto enum_names(Level) {
  using enum Level;
  return std::array<std::pair<Level, std::string_view>, 3>{{{low, "low"}, {medium, "medium"}, {high, "high"}}};
}

/// `clean` has no leaks and no lost stages; `feroma` is the paper's data with its quirks.
enum class Generator { clean, feroma };
constexpr auto enum_names(Generator) {
  using enum Generator;
  return std::array<std::pair<Generator, std::string_view>, 2>{{{clean, "clean"}, {feroma, "feroma"}}};
}

/// Training data are replaced at each stage, test distributions are drawn from the last one.
enum class DriftMode { trDR_teND };
constexpr auto enum_names(DriftMode) {
  return std::array<std::pair<DriftMode, std::string_view>, 1>{{{DriftMode::trDR_teND, "trDR_teND"}}};
}

/// The `[scenario]` table of a config file.
struct ScenarioOptions {
  std::string dataset = "fmnist";
  std::string data_dir;  ///< folder with the dataset's files; empty: look where `feroma data get` and Debian put them
  Shift shift = Shift::covariate;
  Level level = Level::medium;
  Generator generator = Generator::clean;
  DriftMode drift_mode = DriftMode::trDR_teND;
  int drifts = 10;
  int clients = 20;
  int samples_per_client = 0;  ///< 0: the clients divide the dataset
  int test_clients = 0;        ///< 0: all
  int rounds = 20;
  double participation = 1.0;
  std::int64_t seed = 42;
  bool force_change = false;
  // Explicit bank parameters; 0 takes the level's value.
  int rotations = 0;
  int colours = 0;
  int bank = 0;
  int classes_per_entry = 0;
  int swapped_classes = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("dataset", self.dataset, anything(), "name of a dataset (`feroma list datasets`)");
    visit("data_dir", self.data_dir, anything(), "folder with the dataset's files; empty looks in the usual places");
    visit("shift", self.shift, anything(), "which part of P(X,Y) differs between clients");
    visit("level", self.level, anything(), "how strongly it differs");
    visit("generator", self.generator, anything(), "clean, or feroma for the paper's data with its quirks");
    visit("drift_mode", self.drift_mode, anything(), "how training and test data change over time");
    visit("drifts", self.drifts, at_least(1), "stages over the whole run; each replaces the clients' data");
    visit("clients", self.clients, at_least(1), "number of clients");
    visit("samples_per_client", self.samples_per_client, at_least(0),
          "training samples each client draws for itself; 0 divides the dataset among the clients");
    visit("test_clients", self.test_clients, at_least(0), "test clients scored at the end, the first ones; 0 is all");
    visit("rounds", self.rounds, at_least(1), "communication rounds");
    visit("participation", self.participation, Rule{.min = 0, .max = 1, .min_excluded = true},
          "fraction of clients sampled per round, at least one");
    visit("seed", self.seed, at_least(0), "seed of every random stream of the run");
    visit("force_change", self.force_change, anything(), "every stage brings another distribution than the last");
    visit("rotations", self.rotations, between(0, 4), "angles in the bank (1, 2 or 4); 0 takes the level's value");
    visit("colours", self.colours, between(0, 3), "colours in the bank (1 to 3); 0 takes the level's value");
    visit("bank", self.bank, at_least(0), "entries of the P(Y) or P(X|Y) bank; 0 takes the level's value");
    visit("classes_per_entry", self.classes_per_entry, at_least(0),
          "classes kept (P(Y)) or transformed (P(X|Y)) by an entry; 0 takes the level's value");
    visit("swapped_classes", self.swapped_classes, at_least(0),
          "size of the pool whose labels P(Y|X) permutes; 0 takes the level's value");
  }
  /// Rules that span several fields or need the dataset's class count; reports every problem.
  void check(int classes, std::size_t train_samples, std::size_t test_samples, Problems& problems) const;
};

}  // namespace feroma
