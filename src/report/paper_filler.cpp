#include "report/paper_filler.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace feroma::detail {
namespace {

/// Of several settings that fit a cell, the one with the most seeds.
const std::vector<double>& fullest(const std::map<std::string, std::vector<double>>& settings) {
  return std::max_element(settings.begin(), settings.end(),
                          [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); })
      ->second;
}

/// A mean over cells stands only where all of them are there; its spread is taken as the paper does, the root of the
/// mean squared spread of the cells.
PaperValue mean_of(const std::vector<MeanDeviation>& found, PaperValue value) {
  value.cells_found = found.size();
  value.seeds = std::numeric_limits<std::size_t>::max();
  double sum = 0;
  double squares = 0;
  bool spread = true;
  for (const MeanDeviation& cell : found) {
    sum += cell.mean;
    squares += cell.deviation.value_or(0) * cell.deviation.value_or(0);
    spread = spread && cell.deviation.has_value();
    value.seeds = std::min(value.seeds, cell.count);
  }
  if (found.empty() || found.size() < value.cells_needed) {
    value.seeds = 0;
    return value;
  }
  const auto count = static_cast<double>(found.size());
  value.ours = sum / count;
  if (spread) {
    value.ours_std = std::sqrt(squares / count);
  }
  return value;
}

}  // namespace

std::map<std::string, PaperValue> Filler::fill(const std::vector<PaperCell>& cells, const PaperValue& beside) {
  std::map<std::string, std::vector<MeanDeviation>> spreads;
  for (const PaperCell& cell : cells) {
    for (const auto& [label, settings] : find(cell)) {
      several_ = several_ || settings.size() > 1;
      const std::optional<MeanDeviation> spread = mean_and_deviation(fullest(settings));
      spreads[label];
      if (spread) {
        spreads[label].push_back(*spread);
      }
    }
  }
  std::map<std::string, PaperValue> values;
  for (const auto& [label, found] : spreads) {
    values[label] = mean_of(found, beside);
  }
  return values;
}

PaperValue Filler::theirs(const PublishedFigure& figure, std::size_t cells) const {
  PaperValue value;
  value.figure = &figure;
  value.published = figure.mean;
  value.published_std = figure.std;
  value.cells_needed = cells;
  const std::vector<const PublishedFigure*> parts = few_label_parts(figure, published_);
  if (!parts.empty()) {
    double sum = 0;
    double squares = 0;
    for (const PublishedFigure* part : parts) {
      sum += part->mean;
      squares += part->std.value_or(0) * part->std.value_or(0);
    }
    const auto count = static_cast<double>(parts.size());
    value.printed = figure.mean;
    value.published = sum / count;
    value.published_std = std::sqrt(squares / count);
  }
  return value;
}

Filler::Found Filler::find(const PaperCell& cell) {
  Found found;
  for (const OurResult& result : results_) {
    const RunEntry& run = set_.runs[result.run];
    if (!cell.met_by(run, result)) {
      continue;
    }
    if (cell.is_variant(result)) {
      variants_.insert(result.label);
      continue;
    }
    std::string label = result.label;
    if (!cell.told_apart_by.empty()) {
      label += fmt::format(" [{}]", plain_text(run.config.at(cell.told_apart_by).value));
    }
    if (!cell.remark.empty()) {
      label += fmt::format(" [{}]", cell.remark);
    }
    std::vector<double>& values = found[label][result.setting];
    if (const std::optional<double> value = pick(cell.figure, result.result)) {
      values.push_back(*value);
    }
  }
  return found;
}

}  // namespace feroma::detail
