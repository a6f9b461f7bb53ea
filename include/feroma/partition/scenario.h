#pragma once

#include <cstdint>
#include <string>

#include "feroma/core/options.h"
#include "feroma/partition/modes.h"
#include "feroma/partition/shift.h"

namespace feroma {

/// Labelled samples per class that the few-label policy may use to choose a model, unless a scenario says otherwise.
inline constexpr int kFewLabels = 20;

/// The `[scenario]` table of a config file.
struct ScenarioOptions {
  std::string dataset = "fmnist";
  std::string data_dir;  ///< folder with the dataset's files; empty: look where `feroma data get` and Debian put them
  // How the dataset is read; 0 takes the dataset's own value.
  int image_size = 0;
  int first_classes = 0;
  double age_threshold = 0;
  Shift shift = Shift::covariate;
  Level level = Level::medium;
  Generator generator = Generator::clean;
  DriftMode drift_mode = DriftMode::trDR_teND;
  int drifts = 10;
  int clients = 20;
  int samples_per_client = 0;  ///< 0: the clients divide the dataset
  int test_clients = 0;        ///< 0: all
  int few_labels = kFewLabels;
  int rounds = 20;
  double participation = 1.0;
  std::int64_t seed = 42;
  bool force_change = false;
  // How clients move through the distributions.
  bool continual = false;
  int max_distributions = 0;
  bool random_lockers = false;
  TestRule test_rule = TestRule::automatic;
  TestOrder test_order = TestOrder::reversed;
  double unseen_rate = 0;
  UnseenFrom unseen_from = UnseenFrom::outside;
  bool strict = false;
  bool in_turn = false;
  ScaleRule scale_rule = ScaleRule::automatic;
  int samples_per_stage = 0;
  int domain_factors = 0;
  // Explicit parameters; 0 takes the level's value.
  int rotations = 0;
  int colours = 0;
  int bank = 0;
  int classes_per_entry = 0;
  int swapped_classes = 0;
  int perm_bank = 0;
  double skew_min = 0;
  double skew_max = 0;
  double label_skew_min = 0;
  double label_skew_max = 0;
  double quantity_std = 0;
  double alpha = 0;
  int classes_per_client = 0;
  int shards_per_client = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("dataset", self.dataset, anything(), "name of a dataset (`feroma list datasets`)");
    visit("data_dir", self.data_dir, anything(), "folder with the dataset's files; empty looks in the usual places");
    visit("image_size", self.image_size, between(0, 1024),
          "side that pictures of other sizes are resized to; 0 takes the dataset's own");
    visit("first_classes", self.first_classes, at_least(0), "picture folders: keep only so many classes; 0 is all");
    visit("age_threshold", self.age_threshold, between(0, 150), "chest X-rays: old from this age on; 0 is 50");
    visit("shift", self.shift, anything(), "which part of P(X,Y) differs between clients");
    visit("level", self.level, anything(), "how strongly it differs");
    visit("generator", self.generator, anything(), "clean, or feroma for the paper's data with its quirks");
    visit("drift_mode", self.drift_mode, anything(), "how training and test data change over time");
    visit("drifts", self.drifts, at_least(1), "stages over the whole run; each replaces the clients' data");
    visit("clients", self.clients, at_least(1), "number of clients");
    visit("samples_per_client", self.samples_per_client, at_least(0),
          "training samples each client draws for itself; 0 divides the dataset among the clients");
    visit("test_clients", self.test_clients, at_least(0), "test clients scored at the end, the first ones; 0 is all");
    visit("few_labels", self.few_labels, at_least(1),
          "labelled samples of each class by which a test client may choose its model");
    visit("rounds", self.rounds, at_least(1), "communication rounds");
    visit("participation", self.participation, Rule{.min = 0, .max = 1, .min_excluded = true},
          "fraction of clients sampled per round, at least one");
    visit("seed", self.seed, at_least(0), "seed of every random stream of the run");
    visit("force_change", self.force_change, anything(), "every stage brings another distribution than the last");
    visit("continual", self.continual, anything(), "a client never returns to a distribution it has left");
    visit("max_distributions", self.max_distributions, at_least(0),
          "different distributions a client may go through; 0 is all of them");
    visit("random_lockers", self.random_lockers, anything(), "stages begin at random rounds instead of evenly");
    visit("test_rule", self.test_rule, anything(), "which distribution a client is tested on");
    visit("test_order", self.test_order, anything(), "trND_teDR: what is frequent in the test data");
    visit("unseen_rate", self.unseen_rate, between(0, 1), "fraction of test clients with a held-out distribution");
    visit(
        "unseen_from", self.unseen_from, anything(),
        "outside: angles, colours or class sets that training has not; bank: pairs of them held out of the bank, P(X)");
    visit("strict", self.strict, anything(), "static: each client has one distribution of a bank, on every sample");
    visit("in_turn", self.in_turn, anything(),
          "strict: clients take the distributions of the bank in turn, so that each has as many clients");
    visit("scale_rule", self.scale_rule, anything(), "how often samples are repeated to fill the stages");
    visit("samples_per_stage", self.samples_per_stage, at_least(0),
          "natural: at most so many training samples per client and stage; 0 is all there are");
    visit("domain_factors", self.domain_factors, at_least(0),
          "natural: parts of the domains' names that count, as view/age/sex; 0 takes the level's value");
    visit("rotations", self.rotations, between(0, 4), "angles in the bank (1, 2 or 4); 0 takes the level's value");
    visit("colours", self.colours, between(0, 3), "colours in the bank (1 to 3); 0 takes the level's value");
    visit("bank", self.bank, at_least(0), "entries of the P(Y) or P(X|Y) bank; 0 takes the level's value");
    visit("classes_per_entry", self.classes_per_entry, at_least(0),
          "classes kept (P(Y)) or transformed (P(X|Y)) by an entry; 0 takes the level's value");
    visit("swapped_classes", self.swapped_classes, at_least(0),
          "size of the pool whose labels P(Y|X) permutes; 0 takes the level's value");
    visit("perm_bank", self.perm_bank, at_least(0),
          "P(Y|X): this many random permutations; 0 is all of them, or new ones each time if those are too many");
    visit("skew_min", self.skew_min, at_least(0), "least skew of a client: of the ranking in P(X), chance in P(Y|X)");
    visit("skew_max", self.skew_max, at_least(0), "largest skew of a client; 0 takes both from the level");
    visit("label_skew_min", self.label_skew_min, at_least(0), "least skew of a client's labels in P(Y)");
    visit("label_skew_max", self.label_skew_max, at_least(0), "largest skew of labels; 0 takes both from the level");
    visit("quantity_std", self.quantity_std, at_least(0), "spread of the clients' sizes; 0 takes the level's value");
    visit("alpha", self.alpha, at_least(0), "concentration of the Dirichlet partition; 0 takes the level's value");
    visit("classes_per_client", self.classes_per_client, at_least(0),
          "classes of a client in the pathological partition; 0 takes the level's value");
    visit("shards_per_client", self.shards_per_client, at_least(0),
          "pieces of the sorted data per client in the shard partition; 0 takes the level's value");
  }
  /// Rules that span several fields or need the dataset's class count; reports every problem.
  void check(int classes, std::size_t train_samples, std::size_t test_samples, Problems& problems) const;
};

/// Whether clients move through a bank of distributions; otherwise each has one of its own all the time.
[[nodiscard]] bool has_bank(const ScenarioOptions& options);
/// The rules behind `auto`.
[[nodiscard]] ScaleRule scale_rule(const ScenarioOptions& options);
[[nodiscard]] TestRule test_rule(const ScenarioOptions& options);
/// How many test clients get a held-out distribution.
[[nodiscard]] int unseen_clients(const ScenarioOptions& options);

}  // namespace feroma
