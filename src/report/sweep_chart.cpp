#include "report/sweep_chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "report/paper_map.h"
#include "report/run_keys.h"
#include "report/sweep_axes.h"

namespace feroma::detail {
namespace {

constexpr std::string_view kShiftKey = "scenario.shift";

/// A setting without some of its lines, "key=value" each.
std::string without(const std::vector<std::string_view>& keys, std::string_view setting) {
  std::string rest;
  while (!setting.empty()) {
    const std::size_t end = setting.find('\n') + 1;
    const std::string_view key = setting.substr(0, setting.find('='));
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      rest += setting.substr(0, end);
    }
    setting.remove_prefix(end);
  }
  return rest;
}

/// Values by place and label, one per seed.
using Seeds = std::map<double, std::map<std::string, std::vector<double>>>;

/// Runs that differ in nothing but their place on the axis.
struct Family {
  const RunEntry* first = nullptr;
  Seeds values;
  Seeds known;
};
/// Setting and privacy mode: budgets of different modes do not mean the same.
using Families = std::map<std::pair<std::string, std::string>, Family>;

/// What one plot shows.
struct Curves {
  const RunEntry* run = nullptr;  ///< one of those behind it
  Points ours;
  Points known;
  Points published;
};

Families families_of(const SweepAxis& axis, const Study& study) {
  std::vector<std::string_view> keys = axis.follows;
  keys.push_back(axis.key);
  Families families;
  for (const OurResult& result : study.results) {
    const RunEntry& run = study.set.runs[result.run];
    const std::optional<double> place = place_of(axis, run);
    const std::optional<double> value = axis.get(run, result.result);
    if (place && value && std::isfinite(*value)) {
      Family& family = families[{without(keys, result.setting), privacy_mode(run)}];
      family.first = family.first == nullptr ? &run : family.first;
      family.values[*place][result.label].push_back(*value);
      const std::optional<double> known = axis.known ? axis.known(run, result.result) : std::nullopt;
      if (known && std::isfinite(*known)) {
        family.known[*place][result.label].push_back(*known);
      }
    }
  }
  if (axis.key == kBudgetKey) {
    // Runs without privacy stand behind the budgets of every mode.
    for (auto& [key, family] : families) {
      const auto off = families.find({key.first, "off"});
      if (key.second != "off" && off != families.end()) {
        family.values[kNoBudget] = off->second.values[kNoBudget];
      }
    }
  }
  return families;
}

Points points_of(const Seeds& seeds, const char* behind = "") {
  Points points;
  for (const auto& [place, labels] : seeds) {
    for (const auto& [label, values] : labels) {
      points[place][label + behind] = *mean_and_deviation(values);
    }
  }
  return points;
}

/// The mean of what all parts have; its spread is the root of the mean squared spread, as in the tables.
Points mean_points(const std::vector<const Points*>& parts) {
  Points means;
  for (const auto& [place, labels] : *parts.front()) {
    for (const auto& [label, first] : labels) {
      MeanDeviation mean{0, 0.0, first.count};
      double squares = 0;
      bool spread = true;
      std::size_t found = 0;
      for (const Points* part : parts) {
        const auto at = part->find(place);
        if (at == part->end() || !at->second.contains(label)) {
          break;
        }
        const MeanDeviation& one = at->second.at(label);
        mean.mean += one.mean / static_cast<double>(parts.size());
        mean.count = std::min(mean.count, one.count);
        squares += one.deviation.value_or(0) * one.deviation.value_or(0);
        spread = spread && one.deviation.has_value();
        ++found;
      }
      if (found == parts.size()) {
        mean.deviation = spread ? std::optional(std::sqrt(squares / static_cast<double>(found))) : std::nullopt;
        means[place][label] = mean;
      }
    }
  }
  return means;
}

/// Titles say what is not the same in all plots of a kind: what is known on P(Y|X), and what a budget means.
Plot titled_plot(const SweepAxis& axis, const RunEntry& run, bool over_shifts) {
  Plot plot{std::string(axis.title), std::string(axis.x_title), std::string(axis.y_title), {}, {}};
  if (axis.key == kClientsKey && axis.metric == "accuracy" && (over_shifts || is_concept_label(run))) {
    plot.y_title = over_shifts ? "accuracy, on P(Y|X) association known %" : "accuracy, association known %";
  }
  if (axis.key == kBudgetKey) {
    const std::string mode = privacy_mode(run);
    plot.title += fmt::format(", mode {}", mode);
    plot.x_title = mode == "paper" ? "\"epsilon\" of the published noise, which is no guarantee" : plot.x_title;
  }
  const std::string shift = over_shifts ? "" : fmt::format(" {}", text_of(run, "scenario.shift"));
  plot.title += fmt::format(": {}{} {}{}", text_of(run, "scenario.dataset"), shift, text_of(run, "scenario.level"),
                            over_shifts ? ", mean over the four shifts" : "");
  return plot;
}

/// The colour of our curve of the same name or method, or the next one.
std::size_t colour_of(const Plot& plot, const std::string& label) {
  std::string start = label.substr(0, label.find(','));
  std::transform(start.begin(), start.end(), start.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  for (const Plot::Series& series : plot.series) {
    if (series.label.starts_with(start)) {
      return series.colour;
    }
  }
  return plot.series.size();
}

/// Adds curves for the places that the plot has.
void add_series(const Points& points, const std::vector<double>& places, Plot::Look look, Plot& plot) {
  std::map<std::string, Plot::Series> all;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto found = points.find(places[i]);
    if (found == points.end()) {
      continue;
    }
    for (const auto& [label, value] : found->second) {
      Plot::Series& series = all[label];
      series.values.resize(places.size());
      series.values[i] = value;
    }
  }
  for (auto& [label, series] : all) {
    series.label = label;
    series.look = look;
    series.colour = look == Plot::Look::ours ? plot.series.size() : colour_of(plot, label);
    plot.series.push_back(std::move(series));
  }
}

Plot plot_of(const SweepAxis& axis, const Curves& curves, bool over_shifts) {
  Plot plot = titled_plot(axis, *curves.run, over_shifts);
  std::vector<double> places;
  for (const auto& [place, labels] : curves.ours) {
    plot.places.push_back(place == kNoBudget ? "no privacy" : fmt::format("{:g}", place));
    places.push_back(place);
  }
  add_series(curves.ours, places, Plot::Look::ours, plot);
  add_series(curves.known, places, Plot::Look::known, plot);
  add_series(curves.published, places, Plot::Look::published, plot);
  return plot;
}

/// Means over the four shifts, of settings that have all of them.
std::vector<Curves> means_over_shifts(const std::map<std::pair<std::string, std::string>, Curves>& all) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, const Curves*>> by_rest;
  for (const auto& [key, curves] : all) {
    const ShiftName* shift = find_shift(text_of(*curves.run, "scenario.shift"));
    if (shift != nullptr && !shift->ending.empty()) {
      by_rest[{without({kShiftKey}, key.first), key.second}][std::string(shift->ours)] = &curves;
    }
  }
  std::vector<Curves> means;
  constexpr std::size_t kShifts = 4;
  for (const auto& [rest, shifts] : by_rest) {
    if (shifts.size() == kShifts) {
      std::vector<const Points*> ours;
      std::vector<const Points*> published;
      for (const auto& [shift, curves] : shifts) {
        ours.push_back(&curves->ours);
        published.push_back(&curves->published);
      }
      means.push_back({shifts.begin()->second->run, mean_points(ours), {}, mean_points(published)});
    }
  }
  return means;
}

}  // namespace

std::vector<Plot> sweep_plots(const Study& study, const std::vector<PublishedFigure>& published) {
  std::vector<Plot> plots;
  for (const SweepAxis& axis : sweep_axes()) {
    std::map<std::pair<std::string, std::string>, Curves> all;
    for (const auto& [key, family] : families_of(axis, study)) {
      if (family.values.size() > 1) {
        all[key] = {family.first, points_of(family.values), points_of(family.known, ", association known"),
                    published_points(axis, *family.first, published)};
      }
    }
    for (const Curves& mean : axis.over_shifts ? means_over_shifts(all) : std::vector<Curves>()) {
      if (mean.ours.size() > 1) {
        plots.push_back(plot_of(axis, mean, /*over_shifts=*/true));
      }
    }
    for (const auto& [key, curves] : all) {
      plots.push_back(plot_of(axis, curves, /*over_shifts=*/false));
    }
  }
  return plots;
}

}  // namespace feroma::detail
