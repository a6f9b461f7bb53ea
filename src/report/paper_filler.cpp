#include "report/paper_filler.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "report/paper_beside.h"
#include "report/run_keys.h"

namespace feroma::detail {
namespace {

std::string common(const std::set<std::string>& values) {
  return values.empty() ? "" : values.size() == 1 ? *values.begin() : "all";
}

/// What a label has of the cells of a figure.
struct FoundCells {
  std::vector<MeanDeviation> spreads;
  Origin origin;
  std::optional<std::string> not_applicable;
};

}  // namespace

PaperValue mean_over_cells(const std::vector<MeanDeviation>& found, PaperValue value) {
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

void Origin::add(const RunEntry& run, bool leveled) {
  datasets_.insert(text_of(run, "scenario.dataset"));
  drifts_.insert(drift_of(run));
  if (leveled) {
    levels_.insert(text_of(run, "scenario.level"));
  }
}

void Origin::write_to(PaperValue& value) const {
  value.our_dataset = common(datasets_);
  value.our_level = common(levels_);
  value.our_drift = common(drifts_);
}

const Filler::Seeds& Filler::fullest(const SeedsBySetting& settings) {
  return std::max_element(settings.begin(), settings.end(),
                          [](const auto& a, const auto& b) { return a.second.values.size() < b.second.values.size(); })
      ->second;
}

std::map<std::string, PaperValue> Filler::fill(const std::vector<PaperCell>& cells, const PaperValue& beside) {
  std::map<std::string, FoundCells> labels;
  for (const PaperCell& cell : cells) {
    const bool leveled = std::any_of(cell.run.begin(), cell.run.end(),
                                     [](const Condition& condition) { return condition.key == "scenario.level"; });
    for (const auto& [label, settings] : find(cell)) {
      several_ = several_ || settings.size() > 1;
      const Seeds& seeds = fullest(settings);
      FoundCells& found = labels[label];
      if (const std::optional<MeanDeviation> spread = mean_and_deviation(seeds.values)) {
        found.spreads.push_back(*spread);
        found.origin.add(*seeds.run, leveled);
      } else if (seeds.not_applicable) {
        found.not_applicable = seeds.not_applicable;
      }
    }
  }
  std::map<std::string, PaperValue> values;
  for (const auto& [label, found] : labels) {
    PaperValue& value = values[label] = mean_over_cells(found.spreads, beside);
    if (value.ours && cells.front().figure == Pick::seconds) {
      // As published: the logarithm of the mean, which over shifts is not the mean of logarithms.
      value.ours = std::log2(*value.ours);
      value.ours_std.reset();
    }
    if (value.ours) {
      found.origin.write_to(value);
    } else {
      value.not_applicable = found.not_applicable;
    }
  }
  return values;
}

PaperValue Filler::theirs(const PublishedFigure& figure, std::size_t cells) const {
  PaperValue value;
  value.figure = &figure;
  value.published = figure.mean;
  value.published_std = figure.std;
  value.cells_needed = cells;
  // Seconds are of a machine as well as of a method.
  value.comparable = !is_of_other_data(figure) && figure.metric != "log2_seconds";
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
    Seeds& seeds = found[label][result.setting];
    seeds.run = &run;
    if (const std::optional<double> value = pick(cell.figure, result.result)) {
      seeds.values.push_back(*value);
    } else if (result.result.not_applicable) {
      seeds.not_applicable = result.result.not_applicable;
    }
  }
  return found;
}

}  // namespace feroma::detail
