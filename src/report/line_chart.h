#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "feroma/report/run_data.h"

namespace feroma::detail {

/// Colours of the page; further algorithms start again.
inline constexpr std::size_t kColours = 6;

/// Accuracy of one algorithm per round, absent where it has no such round.
struct Curve {
  std::string label;
  std::vector<std::optional<double>> before;
  std::vector<std::optional<double>> after;
  std::vector<std::optional<double>> test = {};

  /// Whether any round was tested.
  [[nodiscard]] bool tested() const;
  /// What stands for the algorithm: test accuracy or, where no round has one, the accuracy as served.
  [[nodiscard]] const std::vector<std::optional<double>>& headline() const { return tested() ? test : before; }
  /// The label, with what the headline is where that is not test accuracy.
  [[nodiscard]] std::string title() const { return tested() ? label : label + " (as served)"; }
};

/// The curves of a run over the same rounds, and the rounds whose data changed.
struct CurveData {
  int first = 1;
  int last = 1;
  std::vector<Curve> curves;
  std::vector<int> drifts;
};

/// The class that tells a curve from those it may cover: the first is solid, others leave gaps.
[[nodiscard]] const char* dash_class(std::size_t series);

[[nodiscard]] CurveData curves_of(std::span<const AlgorithmRun> algorithms);
/// How people know a headline: "test accuracy", "accuracy as served", or both words where curves differ.
[[nodiscard]] std::string headline_name(const CurveData& data);
/// What the headlines are, in sentences.
[[nodiscard]] std::string headline_sentences(const CurveData& data);
/// The chart: every algorithm's headline, drifts as dotted lines.
[[nodiscard]] std::string line_chart_svg(const CurveData& data);

}  // namespace feroma::detail
