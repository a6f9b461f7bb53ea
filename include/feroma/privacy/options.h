#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "feroma/core/options.h"
#include "feroma/privacy/accountant.h"
#include "feroma/privacy/ledger.h"
#include "feroma/privacy/record_sums.h"

namespace feroma {

/// How profiles are protected before they leave a client.
enum class PrivacyMode {
  off,
  paper,     ///< the published noise; no guarantee
  pure,      ///< (epsilon, 0), integer Laplace noise
  gaussian,  ///< (epsilon, delta), integer Gaussian noise
};
constexpr auto enum_names(PrivacyMode) {
  using enum PrivacyMode;
  return std::array<std::pair<PrivacyMode, std::string_view>, 5>{
      {{off, "off"}, {paper, "paper"}, {pure, "pure"}, {gaussian, "gaussian"}, {off, "none"}}};
}
constexpr auto enum_names(Neighbours) {
  using enum Neighbours;
  return std::array<std::pair<Neighbours, std::string_view>, 2>{
      {{add_remove, "add_remove"}, {replace_one, "replace_one"}}};
}
/// Where noise comes from: the operating system, or a run's seed, which protects nothing and repeats exactly.
enum class NoiseSource { os, seeded };
constexpr auto enum_names(NoiseSource) {
  using enum NoiseSource;
  return std::array<std::pair<NoiseSource, std::string_view>, 2>{{{os, "os"}, {seeded, "seeded"}}};
}
/// Where records are clipped: at constants, or at a quantile that clients' noisy histograms tell.
enum class BoundsRule { fixed, histogram };
constexpr auto enum_names(BoundsRule) {
  using enum BoundsRule;
  return std::array<std::pair<BoundsRule, std::string_view>, 2>{{{fixed, "fixed"}, {histogram, "histogram"}}};
}
/// Whether the bounds move to where the first profiles say that records are.
enum class Recentre { once, never };
constexpr auto enum_names(Recentre) {
  using enum Recentre;
  return std::array<std::pair<Recentre, std::string_view>, 2>{{{once, "once"}, {never, "never"}}};
}
/// What happens once a client has spent its budget: its last profile stays, or the run ends with that round.
enum class WhenSpent { freeze, stop };
constexpr auto enum_names(WhenSpent) {
  using enum WhenSpent;
  return std::array<std::pair<WhenSpent, std::string_view>, 2>{{{freeze, "freeze"}, {stop, "stop"}}};
}

/// The `[privacy]` table.
struct PrivacyOptions {
  PrivacyMode mode = PrivacyMode::off;
  double epsilon_total = 5;
  double delta_total = 1e-5;
  int max_releases = 20;
  int test_releases = 4;
  int max_records = 10000;
  Neighbours neighbours = Neighbours::add_remove;
  Calibration calibration = Calibration::zcdp;
  NoiseSource noise = NoiseSource::os;
  BoundsRule bounds = BoundsRule::fixed;
  double bounds_epsilon = 0.25;
  double radius_quantile = 0.8;
  Recentre recenter = Recentre::once;
  double weight_count = 0;
  double weight_sum = 0;
  double weight_square = 0;
  int max_labels = 1;
  bool versions_disjoint = false;
  bool jitter = false;
  WhenSpent when_spent = WhenSpent::freeze;
  std::string ledger;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit);
  /// Impossible combinations, and options that would be ignored.
  void check(Problems& problems) const;

  /// Whether what leaves a client is bounded by a budget: pure and gaussian.
  [[nodiscard]] bool guarded() const { return mode == PrivacyMode::pure || mode == PrivacyMode::gaussian; }
  [[nodiscard]] PrivacyBudget budget() const;
  [[nodiscard]] ReleasePlan plan() const;
  /// The same options for a client that does not train: it has fewer releases to make, so each may tell more.
  [[nodiscard]] PrivacyOptions of_test_client() const;
  /// What is summed over records of `classes` classes, or over unlabelled ones (1).
  [[nodiscard]] SumShape shape(int coordinates, int classes, bool multi_label) const;
};

template <class Self, class Visit>
void PrivacyOptions::fields(Self& self, Visit&& visit) {
  visit("mode", self.mode, anything(),
        "protection of profiles (`feroma privacy explain`); pure and gaussian take all records, projected, once per "
        "version");
  visit("epsilon_total", self.epsilon_total, above(0),
        "budget of every client for an algorithm, all releases together; paper: of one profile");
  visit("delta_total", self.delta_total, between(1e-300, 0.5), "gaussian: probability that the bound may fail");
  visit("max_releases", self.max_releases, at_least(1),
        "profiles that a client may send; the budget is divided by it, unless versions are disjoint");
  visit("test_releases", self.test_releases, at_least(1),
        "profiles that a client may send which only asks for a model; if max_releases is less, that counts");
  visit("max_records", self.max_records, at_least(1),
        "a public limit of clients' sizes: delta_total may be at most a tenth of one over it");
  visit("neighbours", self.neighbours, anything(), "which data sets must look alike: one record more, or another one");
  visit("calibration", self.calibration, anything(),
        "gaussian: how releases add up; analytic is a little tighter, and not proven for integer noise");
  visit("noise", self.noise, anything(), "seeded repeats exactly and protects nothing: for simulations");
  visit("bounds", self.bounds, anything(), "where records are clipped: constants, or noisy histograms of their norms");
  visit("bounds_epsilon", self.bounds_epsilon, above(0), "histogram: its part of the budget");
  visit("radius_quantile", self.radius_quantile, between(0.01, 1), "histogram: the share of records within the bounds");
  visit("recenter", self.recenter, anything(),
        "move the bounds to where the first profiles say that records are, which takes one more release");
  visit("weights.count", self.weight_count, between(0, 100),
        "how much of the budget counts take; 0 takes the mode's own");
  visit("weights.sum", self.weight_sum, between(0, 100), "how much of the budget sums take; 0 takes the mode's own");
  visit("weights.square", self.weight_square, between(0, 100),
        "how much of the budget sums of squares take; 0 takes the mode's own");
  visit("max_labels", self.max_labels, at_least(1), "multi-label data: labels of a record that count, lowest first");
  visit("versions_disjoint", self.versions_disjoint, anything(),
        "no record outlives a data version, so that versions do not add up; nobody can check it for you");
  visit("jitter", self.jitter, anything(), "the server moves a profile that is sent again by as much as its noise");
  visit("when_spent", self.when_spent, anything(), "a client without budget keeps its last profile, or ends the run");
  visit("ledger", self.ledger, anything(), "folder of the clients' ledgers; empty: in the run's own folder");
}

}  // namespace feroma
