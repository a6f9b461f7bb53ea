#include "report/sweep_chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "report/paper_map.h"
#include "report/run_keys.h"
#include "report/sweep_axes.h"
#include "report/sweep_families.h"

namespace feroma::detail {
namespace {

constexpr std::string_view kShiftKey = "scenario.shift";

/// What one plot shows.
struct Curves {
  const RunEntry* run = nullptr;  ///< one of those behind it
  std::string setting;            ///< what they have in common
  bool best_round = false;        ///< whether FedAvg is shown by its best round
  Points ours;
  Points known;
  Points published;
  std::size_t order = 0;  ///< of its first setting among the study's
};

/// Where the study has the first of a family's settings: its order is that of people, low before high.
std::size_t order_of(const Family& family, const Study& study) {
  std::set<std::string_view> settings;
  for (const auto& [place, labels] : family.results) {
    for (const auto& [label, seeds] : labels) {
      for (const auto& [seed, result] : seeds) {
        settings.insert(result->setting);
      }
    }
  }
  const auto first = std::find_if(study.groups.begin(), study.groups.end(),
                                  [&](const ResultGroup& group) { return settings.contains(group.setting); });
  return static_cast<std::size_t>(first - study.groups.begin());
}

Points points_of(const SweepAxis::Get& get, const Family& family, const Study& study, const char* behind = "") {
  Points points;
  for (const auto& [place, labels] : family.results) {
    for (const auto& [label, seeds] : labels) {
      std::vector<double> values;
      for (const auto& [seed, result] : seeds) {
        const std::optional<double> value = get(study.set.runs[result->run], result->result);
        if (value && std::isfinite(*value)) {
          values.push_back(*value);
        }
      }
      if (const std::optional<MeanDeviation> mean = mean_and_deviation(values)) {
        points[place][label + behind] = *mean;
      }
    }
  }
  return points;
}

bool has_best_round(const SweepAxis& axis, const Family& family, bool beside) {
  for (const auto& [place, labels] : family.results) {
    for (const auto& [label, seeds] : labels) {
      for (const auto& [seed, result] : seeds) {
        if (shows_best_round(axis, result->result, beside)) {
          return true;
        }
      }
    }
  }
  return false;
}

Curves curves_for(const SweepAxis& axis, const std::string& setting, const Family& family, const Study& study,
                  const std::vector<PublishedFigure>& published) {
  Curves curves{family.first, setting, false, {}, {}, published_points(axis, *family.first, published)};
  const bool beside = !curves.published.empty();
  curves.best_round = has_best_round(axis, family, beside);
  curves.ours =
      points_of([&](const RunEntry& run, const ResultRecord& result) { return value_of(axis, run, result, beside); },
                family, study);
  if (axis.known) {
    curves.known = points_of(axis.known, family, study, ", association known");
  }
  return curves;
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

std::size_t count_points(const Plot::Series& series) {
  return static_cast<std::size_t>(
      std::count_if(series.values.begin(), series.values.end(), [](const auto& value) { return value.has_value(); }));
}

/// The colour of our curve of the same name, or else of the same method: one with several points before one that is
/// not even a line. The next one where there is none.
std::size_t colour_of(const Plot& plot, const std::string& label) {
  std::string start = label.substr(0, label.find(','));
  std::transform(start.begin(), start.end(), start.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const Plot::Series* found = nullptr;
  for (const Plot::Series& series : plot.series) {
    if (series.label == start) {
      return series.colour;
    }
    const bool longer = found == nullptr || (count_points(*found) < 2 && count_points(series) >= 2);
    if (series.label.starts_with(start) && longer) {
      found = &series;
    }
  }
  return found == nullptr ? plot.series.size() : found->colour;
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
  if (curves.best_round) {
    plot.remark = "FedAvg is the model of the round with the best validation loss, as in the tables.";
  }
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
std::vector<Curves> means_over_shifts(const std::map<FamilyKey, Curves>& all) {
  std::map<FamilyKey, std::map<std::string, const Curves*>> by_rest;
  for (const auto& [key, curves] : all) {
    const ShiftName* shift = find_shift(text_of(*curves.run, "scenario.shift"));
    if (shift != nullptr && !shift->ending.empty()) {
      by_rest[{without_keys({kShiftKey}, key.first), key.second}][std::string(shift->ours)] = &curves;
    }
  }
  std::vector<Curves> means;
  constexpr std::size_t kAllShifts = 4;
  for (const auto& [rest, shifts] : by_rest) {
    if (shifts.size() == kAllShifts) {
      Curves mean{shifts.begin()->second->run, rest.first, false, {}, {}, {}};
      std::vector<const Points*> ours;
      std::vector<const Points*> published;
      for (const auto& [shift, curves] : shifts) {
        ours.push_back(&curves->ours);
        published.push_back(&curves->published);
        mean.best_round = mean.best_round || curves->best_round;
      }
      mean.ours = mean_points(ours);
      mean.published = mean_points(published);
      means.push_back(std::move(mean));
    }
  }
  return means;
}

/// A plot and what is behind it.
struct DrawnPlot {
  Plot plot;
  const Curves* curves = nullptr;
};

/// The keys of settings, lines of "key=value", that not all of them have alike.
std::set<std::string> telling_keys(const std::vector<DrawnPlot*>& plots) {
  std::map<std::string, std::size_t> lines;
  for (const DrawnPlot* drawn : plots) {
    std::istringstream setting(drawn->curves->setting);
    for (std::string line; std::getline(setting, line);) {
      lines[line] += 1;
    }
  }
  std::set<std::string> keys;
  for (const auto& [line, count] : lines) {
    if (count < plots.size()) {
      keys.insert(line.substr(0, line.find('=')));
    }
  }
  return keys;
}

/// Plots that would go by the same title have what their settings differ in put behind it.
void tell_titles_apart(std::vector<DrawnPlot>& plots) {
  std::map<std::string, std::vector<DrawnPlot*>> by_title;
  for (DrawnPlot& drawn : plots) {
    by_title[drawn.plot.title].push_back(&drawn);
  }
  constexpr std::string_view kScenario = "scenario.";
  for (const auto& [title, same] : by_title) {
    for (const std::string& key : same.size() > 1 ? telling_keys(same) : std::set<std::string>()) {
      const std::string name = key.starts_with(kScenario) ? key.substr(kScenario.size()) : key;
      for (DrawnPlot* drawn : same) {
        const std::string value = text_of(*drawn->curves->run, key.c_str());
        drawn->plot.title += value.empty() ? "" : fmt::format(", {} {}", name, value);
      }
    }
  }
}

}  // namespace

std::vector<Plot> sweep_plots(const Study& study, const std::vector<PublishedFigure>& published) {
  std::vector<Plot> plots;
  for (const SweepAxis& axis : sweep_axes()) {
    std::map<FamilyKey, Curves> all;
    for (const auto& [key, family] : families_of(axis, study)) {
      if (family.results.size() > 1) {
        all[key] = curves_for(axis, key.first, family, study, published);
        all[key].order = order_of(family, study);
      }
    }
    const std::vector<Curves> means = axis.over_shifts ? means_over_shifts(all) : std::vector<Curves>();
    std::vector<DrawnPlot> drawn;
    for (const Curves& mean : means) {
      if (mean.ours.size() > 1) {
        drawn.push_back({plot_of(axis, mean, /*over_shifts=*/true), &mean});
      }
    }
    const auto over_shifts = static_cast<std::ptrdiff_t>(drawn.size());
    for (const auto& [key, curves] : all) {
      drawn.push_back({plot_of(axis, curves, /*over_shifts=*/false), &curves});
    }
    std::stable_sort(drawn.begin() + over_shifts, drawn.end(),
                     [](const DrawnPlot& a, const DrawnPlot& b) { return a.curves->order < b.curves->order; });
    tell_titles_apart(drawn);
    for (DrawnPlot& one : drawn) {
      plots.push_back(std::move(one.plot));
    }
  }
  return plots;
}

}  // namespace feroma::detail
