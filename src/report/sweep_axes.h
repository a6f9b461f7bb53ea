#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "feroma/report/published.h"
#include "feroma/report/run_set.h"
#include "feroma/report/statistics.h"

namespace feroma::detail {

/// What the plots of one kind run over, and what they show.
struct SweepAxis {
  using Get = std::function<std::optional<double>(const RunEntry&, const ResultRecord&)>;

  std::string_view title;
  std::string_view key;  ///< of the config
  std::string_view x_title;
  std::string_view y_title;
  std::string_view metric;                ///< of the published figures
  std::vector<std::string_view> follows;  ///< keys that change with it and do not part plots
  Get get;
  Get known = {};            ///< the same with the association known, where that has a curve of its own
  bool over_shifts = false;  ///< whether a mean over the four shifts is drawn too
};
[[nodiscard]] const std::vector<SweepAxis>& sweep_axes();

/// No privacy stands behind every budget.
inline constexpr double kNoBudget = 1e300;
inline constexpr std::string_view kBudgetKey = "privacy.epsilon_total";
inline constexpr std::string_view kClientsKey = "scenario.clients";

/// Where a run stands on the axis.
[[nodiscard]] std::optional<double> place_of(const SweepAxis& axis, const RunEntry& run);
/// Whether a result is shown by its best round: FedAvg's accuracy beside published points, as in the tables.
[[nodiscard]] bool shows_best_round(const SweepAxis& axis, const ResultRecord& result, bool beside_published);
/// What an axis shows of a result.
[[nodiscard]] std::optional<double> value_of(const SweepAxis& axis, const RunEntry& run, const ResultRecord& result,
                                             bool beside_published);

/// Values by their place on the axis and the name of the curve.
using Points = std::map<double, std::map<std::string, MeanDeviation>>;
/// What the paper states for the experiments that a run is one of; empty where it has none.
[[nodiscard]] Points published_points(const SweepAxis& axis, const RunEntry& run,
                                      const std::vector<PublishedFigure>& published);

}  // namespace feroma::detail
