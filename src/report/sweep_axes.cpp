#include "report/sweep_axes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "feroma/core/number.h"
#include "report/paper_map.h"
#include "report/run_keys.h"

namespace feroma::detail {
namespace {

constexpr std::string_view kLabelsKey = "scenario.few_labels";
/// Labels per class of the paper's few-label figures.
constexpr double kPaperLabels = 20;

std::optional<double> accuracy_of(const RunEntry& run, const ResultRecord& result) {
  return comparable_accuracy(run, result);
}

/// Over numbers of clients the paper has the association known on P(Y|X).
std::optional<double> known_accuracy_of(const RunEntry& run, const ResultRecord& result) {
  return is_concept_label(run) ? result.accuracy_known : result.accuracy;
}

std::optional<double> seconds_of(const RunEntry&, const ResultRecord& result) { return result.seconds_total; }
std::optional<double> few_label_of(const RunEntry&, const ResultRecord& result) { return result.accuracy_few_label; }
std::optional<double> known_of(const RunEntry&, const ResultRecord& result) { return result.accuracy_known; }

std::optional<double> number_of(const Settings& config, std::string_view key) {
  const auto found = config.find(std::string(key));
  if (found == config.end()) {
    return std::nullopt;
  }
  if (const auto* whole = std::get_if<std::int64_t>(&found->second.value)) {
    return static_cast<double>(*whole);
  }
  const auto* real = std::get_if<double>(&found->second.value);
  return real != nullptr ? std::optional(*real) : std::nullopt;
}

/// Which table has the paper's figures for a run, if any.
std::string table_for(const SweepAxis& axis, const RunEntry& run) {
  const ShiftName* shift = find_shift(text_of(run, "scenario.shift"));
  if (shift == nullptr || shift->ending.empty()) {
    return "";
  }
  if (axis.key == kLabelsKey) {
    return is_concept_label(run) ? "pyx_few_sample_" : "";
  }
  if (axis.key == kClientsKey) {
    return fmt::format("n_client_{}", shift->ending);
  }
  // Budgets of other modes are not the paper's.
  if (axis.key == kBudgetKey && privacy_mode(run) == "paper") {
    return shift->ending == "px" || shift->ending == "py" ? "dp_px_py" : "dp_pyx_pxy";
  }
  return "";
}

/// Where a published figure stands on the axis.
std::optional<double> published_place(const SweepAxis& axis, const PublishedFigure& figure) {
  if (axis.key == kLabelsKey) {
    return kPaperLabels;
  }
  if (figure.variant == "No DP") {
    return kNoBudget;
  }
  std::string_view text = axis.key == kClientsKey ? std::string_view(figure.clients) : figure.variant;
  if (text.starts_with("epsilon=")) {
    text.remove_prefix(8);
  }
  return parse_number<double>(text);
}

/// Whether a run would fill the figure's cell in a table, if it stood at the figure's place on the axis.
bool same_experiment(const SweepAxis& axis, const PublishedFigure& figure, const RunEntry& run) {
  const auto along = [&axis](std::string_view key) {
    return key == axis.key || std::find(axis.follows.begin(), axis.follows.end(), key) != axis.follows.end();
  };
  const std::vector<PaperCell> cells = cells_of(figure);
  return figure.metric == axis.metric && std::all_of(cells.begin(), cells.end(), [&](const PaperCell& cell) {
           return std::all_of(cell.run.begin(), cell.run.end(), [&](const Condition& condition) {
             return along(condition.key) || condition.met_by(run.config);
           });
         });
}

}  // namespace

const std::vector<SweepAxis>& sweep_axes() {
  static const std::vector<SweepAxis> kAxes{
      {"Accuracy and the number of clients",
       kClientsKey,
       "clients",
       "accuracy %",
       "accuracy",
       {"scenario.test_clients"},
       known_accuracy_of,
       {},
       true},
      {"Time and the number of clients",
       kClientsKey,
       "clients",
       "seconds",
       "log2_seconds",
       {"scenario.test_clients"},
       seconds_of,
       {},
       true},
      {"Accuracy and the privacy budget",
       kBudgetKey,
       "epsilon of a client over the whole run",
       "accuracy %",
       "accuracy",
       {"privacy.mode"},
       accuracy_of,
       {},
       true},
      {"Accuracy and the number of labels",
       kLabelsKey,
       "labelled samples per class",
       "accuracy with few labels %",
       "accuracy",
       {},
       few_label_of,
       known_of,
       false},
  };
  return kAxes;
}

std::optional<double> place_of(const SweepAxis& axis, const RunEntry& run) {
  if (axis.key == kBudgetKey && privacy_mode(run) == "off") {
    return kNoBudget;
  }
  return number_of(run.config, axis.key);
}

bool shows_best_round(const SweepAxis& axis, const ResultRecord& result, bool beside_published) {
  return beside_published && axis.metric == "accuracy" && axis.key != kLabelsKey && result.algorithm == "fedavg";
}

std::optional<double> value_of(const SweepAxis& axis, const RunEntry& run, const ResultRecord& result,
                               bool beside_published) {
  return shows_best_round(axis, result, beside_published) ? pick(Pick::best_round, result) : axis.get(run, result);
}

Points published_points(const SweepAxis& axis, const RunEntry& run, const std::vector<PublishedFigure>& published) {
  Points points;
  const std::string table = table_for(axis, run);
  for (const PublishedFigure& figure : published) {
    const bool wanted = figure.method == "FedAvg" || figure.method == "Feroma";
    if (table.empty() || !wanted || !figure.table.starts_with(table) || !same_experiment(axis, figure, run)) {
      continue;
    }
    if (const std::optional<double> place = published_place(axis, figure)) {
      const double value = figure.metric == "log2_seconds" ? std::exp2(figure.mean) : figure.mean;
      const bool known = figure.variant == "Known Association";
      points[*place][fmt::format("{}, published{}", figure.method, known ? ", association known" : "")] = {
          value, figure.std, 5};
    }
  }
  return points;
}

}  // namespace feroma::detail
