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
};

/// The curves of a run over the same rounds, and the rounds whose data changed.
struct CurveData {
  int first = 1;
  int last = 1;
  std::vector<Curve> curves;
  std::vector<int> drifts;
};

[[nodiscard]] CurveData curves_of(std::span<const AlgorithmRun> algorithms);
/// The chart: before local training dashed, after it solid, drifts as dotted lines.
[[nodiscard]] std::string line_chart_svg(const CurveData& data);

}  // namespace feroma::detail
