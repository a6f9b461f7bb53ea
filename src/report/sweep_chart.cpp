#include "report/sweep_chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "report/paper_map.h"

namespace feroma::detail {
namespace {

/// No privacy stands behind every budget.
constexpr double kNoBudget = 1e300;
constexpr std::string_view kBudget = "privacy.epsilon_total";

/// What one plot runs over.
struct Sweep {
  std::string_view title;
  std::string_view key;  ///< of the config
  std::string_view x_title;
  std::string_view y_title;
  std::string_view metric;                ///< of the published figures
  std::vector<std::string_view> follows;  ///< keys that change with it and do not part groups
  std::function<std::optional<double>(const RunEntry&, const ResultRecord&)> get;
};

std::string text_of(const RunEntry& run, const char* key) {
  const auto found = run.config.find(key);
  return found == run.config.end() ? "" : plain_text(found->second.value);
}

std::optional<double> accuracy_of(const RunEntry& run, const ResultRecord& result) {
  return comparable_accuracy(run, result);
}

bool is_concept_label(const RunEntry& run) { return text_of(run, "scenario.shift") == "concept_label"; }

/// Over numbers of clients the paper has the association known on P(Y|X).
std::optional<double> known_accuracy_of(const RunEntry& run, const ResultRecord& result) {
  return is_concept_label(run) ? result.accuracy_known : result.accuracy;
}

const std::vector<Sweep>& sweeps() {
  static const std::vector<Sweep> kSweeps{
      {"Accuracy and the number of clients",
       "scenario.clients",
       "clients",
       "accuracy %",
       "accuracy",
       {"scenario.test_clients"},
       known_accuracy_of},
      {"Time and the number of clients",
       "scenario.clients",
       "clients",
       "seconds",
       "log2_seconds",
       {"scenario.test_clients"},
       [](const RunEntry&, const ResultRecord& result) -> std::optional<double> { return result.seconds_total; }},
      {"Accuracy and the privacy budget",
       kBudget,
       "epsilon of a client over the whole run",
       "accuracy %",
       "accuracy",
       {"privacy.mode"},
       accuracy_of},
      {"Accuracy and the number of labels",
       "scenario.few_labels",
       "labelled samples per class",
       "accuracy with few labels %",
       "",
       {},
       [](const RunEntry&, const ResultRecord& result) { return result.accuracy_few_label; }},
  };
  return kSweeps;
}

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

std::string privacy_mode(const RunEntry& run) {
  const std::string mode = text_of(run, "privacy.mode");
  return mode.empty() ? "off" : mode;
}

/// Where a run stands on the axis.
std::optional<double> place_of(const Sweep& sweep, const RunEntry& run) {
  if (sweep.key == kBudget && privacy_mode(run) == "off") {
    return kNoBudget;
  }
  return number_of(run.config, sweep.key);
}

std::string without(const Sweep& sweep, const std::string& setting) {
  std::string rest;
  std::string_view text = setting;
  while (!text.empty()) {
    const std::size_t end = text.find('\n') + 1;
    const std::string_view key = text.substr(0, text.find('='));
    if (key != sweep.key && std::find(sweep.follows.begin(), sweep.follows.end(), key) == sweep.follows.end()) {
      rest += text.substr(0, end);
    }
    text.remove_prefix(end);
  }
  return rest;
}

/// Runs that differ in nothing else: by place and label, one value per seed.
struct Family {
  const RunEntry* first = nullptr;
  std::map<double, std::map<std::string, std::vector<double>>> values;
};

/// Which table has the paper's figures for this family, if any.
std::string table_for(const Sweep& sweep, const RunEntry& run) {
  if (text_of(run, "scenario.dataset") != "mnist" || text_of(run, "scenario.generator") != "feroma") {
    return "";
  }
  const ShiftName* shift = find_shift(text_of(run, "scenario.shift"));
  if (shift == nullptr || shift->ending.empty()) {
    return "";
  }
  if (sweep.key == "scenario.clients" && text_of(run, "scenario.level") == "medium") {
    return fmt::format("n_client_{}", shift->ending);
  }
  // Budgets of other modes are not the paper's.
  if (sweep.key == kBudget && privacy_mode(run) == "paper" && text_of(run, "scenario.drifts") == "10") {
    return shift->ending == "px" || shift->ending == "py" ? "dp_px_py" : "dp_pyx_pxy";
  }
  return "";
}

/// Where a published figure stands on the axis.
std::optional<double> published_place(const Sweep& sweep, const PublishedFigure& figure) {
  if (figure.variant == "No DP") {
    return kNoBudget;
  }
  std::string_view text = sweep.key == "scenario.clients" ? std::string_view(figure.clients) : figure.variant;
  if (text.starts_with("epsilon=")) {
    text.remove_prefix(8);
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

bool same_experiment(const Sweep& sweep, const PublishedFigure& figure, const RunEntry& run) {
  const ShiftName* shift = find_shift(figure.shift);
  return figure.metric == sweep.metric && shift != nullptr && shift->ours == text_of(run, "scenario.shift") &&
         figure.level == text_of(run, "scenario.level");
}

/// The colour of our curve of the same method, or the next one.
std::size_t colour_of(const Plot& plot, std::string_view start) {
  for (const Plot::Series& series : plot.series) {
    if (series.label.starts_with(start)) {
      return series.colour;
    }
  }
  return plot.series.size();
}

void add_published(const Sweep& sweep, const Family& family, const std::vector<PublishedFigure>& published,
                   const std::vector<double>& places, Plot& plot) {
  const std::string table = table_for(sweep, *family.first);
  for (const auto& [method, ours] : {std::pair<const char*, const char*>{"FedAvg", "fedavg"}, {"Feroma", "feroma"}}) {
    Plot::Series series{fmt::format("{}, published", method), {}, true, colour_of(plot, ours)};
    series.values.resize(places.size());
    bool any = false;
    for (const PublishedFigure& figure : published) {
      if (table.empty() || figure.table != table || figure.method != method ||
          !same_experiment(sweep, figure, *family.first)) {
        continue;
      }
      const std::optional<double> place = published_place(sweep, figure);
      const auto at = std::find(places.begin(), places.end(), place.value_or(-1));
      if (at != places.end()) {
        const bool time = figure.metric == "log2_seconds";
        series.values[static_cast<std::size_t>(at - places.begin())] =
            MeanDeviation{time ? std::exp2(figure.mean) : figure.mean, figure.std, 5};
        any = true;
      }
    }
    if (any) {
      plot.series.push_back(std::move(series));
    }
  }
}

/// Titles say what is not the same in all plots of a kind: what is known on P(Y|X), and what a budget means.
Plot titled_plot(const Sweep& sweep, const RunEntry& run) {
  Plot plot{std::string(sweep.title), std::string(sweep.x_title), std::string(sweep.y_title), {}, {}};
  if (sweep.key == "scenario.clients" && sweep.metric == "accuracy" && is_concept_label(run)) {
    plot.y_title = "accuracy, association known %";
  }
  if (sweep.key == kBudget) {
    const std::string mode = privacy_mode(run);
    plot.title += fmt::format(", mode {}", mode);
    plot.x_title = mode == "paper" ? "\"epsilon\" of the published noise, which is no guarantee" : plot.x_title;
  }
  for (const char* key : {"scenario.dataset", "scenario.shift", "scenario.level"}) {
    plot.title += (std::string_view(key) == "scenario.dataset" ? ": " : " ") + text_of(run, key);
  }
  return plot;
}

Plot plot_of(const Sweep& sweep, const Family& family, const std::vector<PublishedFigure>& published) {
  Plot plot = titled_plot(sweep, *family.first);
  std::vector<double> places;
  std::map<std::string, Plot::Series> series;
  for (const auto& [place, labels] : family.values) {
    plot.places.push_back(place == kNoBudget ? "no privacy" : fmt::format("{:g}", place));
    places.push_back(place);
    for (const auto& [label, values] : labels) {
      series[label].values.resize(family.values.size());
      series[label].values[places.size() - 1] = mean_and_deviation(values);
    }
  }
  for (auto& [label, one] : series) {
    one.label = label;
    one.colour = plot.series.size();
    plot.series.push_back(std::move(one));
  }
  add_published(sweep, family, published, places, plot);
  return plot;
}

/// Setting and privacy mode: budgets of different modes do not mean the same.
using Families = std::map<std::pair<std::string, std::string>, Family>;

Families families_of(const Sweep& sweep, const Study& study) {
  Families families;
  for (const OurResult& result : study.results) {
    const RunEntry& run = study.set.runs[result.run];
    const std::optional<double> place = place_of(sweep, run);
    const std::optional<double> value = sweep.get(run, result.result);
    if (place && value && std::isfinite(*value)) {
      Family& family = families[{without(sweep, result.setting), privacy_mode(run)}];
      family.first = family.first == nullptr ? &run : family.first;
      family.values[*place][result.label].push_back(*value);
    }
  }
  if (sweep.key == kBudget) {
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

}  // namespace

std::vector<Plot> sweep_plots(const Study& study, const std::vector<PublishedFigure>& published) {
  std::vector<Plot> plots;
  for (const Sweep& sweep : sweeps()) {
    for (const auto& [setting, family] : families_of(sweep, study)) {
      if (family.values.size() > 1) {
        plots.push_back(plot_of(sweep, family, published));
      }
    }
  }
  return plots;
}

}  // namespace feroma::detail
