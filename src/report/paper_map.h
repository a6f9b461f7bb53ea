#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "feroma/report/published.h"
#include "feroma/report/run_set.h"

namespace feroma::detail {

/// A shift in the paper's words, in ours, and as its tables' names end.
struct ShiftName {
  std::string_view published;
  std::string_view ours;
  std::string_view ending;
};
/// A shift by the paper's name or ours; null where there is none.
[[nodiscard]] const ShiftName* find_shift(std::string_view name);

/// A dataset of the paper by our name; one that we do not have is an invalid_data error.
[[nodiscard]] std::string_view our_dataset(std::string_view published);

/// Up to so many clients the paper's text and its code repeat samples alike; beyond it the text has less for each.
inline constexpr double kSameScale = 20;
/// The rule by which samples are repeated; of rule "none" they are not.
inline constexpr const char* kScaleRule = "scenario.scale_rule";
/// Whether inputs are standardised.
inline constexpr const char* kStandardise = "training.standardise";

/// A rule for one key of a run's config, "scenario.drifts", or of an algorithm's keys, "mapping.metric".
struct Condition {
  enum class Rule { equals, differs };
  std::string key;
  std::string value;
  Rule rule = Rule::equals;
  bool must_exist = false;  ///< otherwise a config without the key meets it: it is older than the key

  [[nodiscard]] bool met_by(const Settings& settings) const;
};

/// Which of a result's figures stands beside a published one.
enum class Pick {
  accuracy,
  known,
  few_label,
  few_label_or_known,  ///< of a method that makes nothing of labels what it has
  best_round,          ///< of the model with the best validation loss; where there was no validation, of the last one
  seconds
};
[[nodiscard]] std::optional<double> pick(Pick what, const ResultRecord& result);

/// One experiment of ours that a published figure is about.
struct PaperCell {
  std::string algorithm;  ///< empty: any that the paper does not have
  std::vector<Condition> run;
  std::vector<Condition> keys;  ///< of the algorithm
  Pick figure = Pick::accuracy;
  std::string told_apart_by = {};  ///< a key of the run whose value is put behind our label; empty: none
  std::string remark = {};         ///< put behind our label too; empty: none

  [[nodiscard]] bool met_by(const RunEntry& run, const OurResult& result) const;
  /// Whether a result that meets it is of a variant that the cell does not ask for.
  [[nodiscard]] bool is_variant(const OurResult& result) const;
};

/// Whether a table of the paper has levels and drift counts swapped in its headings. Of those of distances the C.C.
/// rows are Feroma's of main_appe_fmnist_* (P(X), P(X|Y)) and of pyx_few_sample_FMNIST (P(Y|X)), transposed. That of
/// P(Y) is found nowhere else; that it is transposed too is seen from 3x1_table, whose deviations come out so alone.
[[nodiscard]] bool headings_are_swapped(std::string_view table);
/// The level and the drift that stand where a swapped heading has these.
[[nodiscard]] std::pair<std::string_view, std::string_view> behind_heading(std::string_view level,
                                                                           std::string_view drift);
/// The experiments behind a figure: one, or all that a mean is taken over.
[[nodiscard]] std::vector<PaperCell> cells_of(const PublishedFigure& figure);

}  // namespace feroma::detail
