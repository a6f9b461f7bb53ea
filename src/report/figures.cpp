#include "feroma/report/figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "report/bar_chart.h"
#include "report/chart_style.h"
#include "report/mixing_chart.h"
#include "report/profile_map.h"
#include "report/rank_chart.h"
#include "report/sweep_chart.h"
#include "report/trajectory_chart.h"

namespace feroma {
namespace {

/// Letters, digits, dots and dashes of a text, for file names.
std::string stem(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_';
    if (plain || (!name.empty() && name.back() != '-')) {
      name += plain ? c : '-';
    }
  }
  while (name.ends_with('-') || name.ends_with('.')) {
    name.pop_back();
  }
  return name;
}

void add(std::vector<Figure>& figures, const std::string& name, std::string title, std::string caption,
         std::string svg) {
  if (!svg.empty()) {
    figures.push_back({stem(name), std::move(title), std::move(caption), std::move(svg), ""});
  }
}

/// Names of files must differ.
void number_names(std::vector<Figure>& figures) {
  std::set<std::string> seen;
  for (Figure& figure : figures) {
    const std::string base = figure.name;
    for (int i = 2; !seen.insert(figure.name).second; ++i) {
      figure.name = fmt::format("{}-{}", base, i);
    }
  }
}

}  // namespace

std::string Figure::file() const { return detail::standalone_svg(svg, title); }
int Figure::width() const { return detail::size_of_chart(svg).width + 2 * detail::kFileMargin; }
int Figure::height() const { return detail::size_of_chart(svg).height + 2 * detail::kFileMargin; }

std::vector<Figure> study_figures(const Study& study, const std::vector<PublishedFigure>& published) {
  std::vector<Figure> figures;
  if (study.comparison) {
    add(figures, "ranks", "Mean ranks",
        fmt::format(
            "Mean ranks over {} settings and seeds, 1 is best; a bar joins algorithms that the Nemenyi test does "
            "not tell apart at 0.05.",
            study.comparison->friedman.blocks),
        detail::rank_chart_svg(*study.comparison));
  }
  for (const detail::Plot& plot : detail::sweep_plots(study, published)) {
    add(figures, plot.title, plot.title,
        "Mean over seeds, with bars of one standard deviation where there are several; dashed is what the paper "
        "states.",
        detail::plot_svg(plot));
    figures.back().numbers = detail::plot_table_html(plot);
  }
  constexpr std::size_t kMostCosts = 6;
  for (std::size_t i = 0; i < study.groups.size() && i < kMostCosts; ++i) {
    const ResultGroup& group = study.groups[i];
    add(figures, fmt::format("cost-{}", i + 1), "Costs: " + group.title,
        "Time and traffic of each algorithm, mean over seeds; the tables above have the numbers.",
        detail::cost_bars_svg(group));
  }
  number_names(figures);
  return figures;
}

std::vector<Figure> run_figures(const RunData& run) {
  std::vector<Figure> figures;
  for (std::size_t i = 0; i < run.algorithms.size(); ++i) {
    const AlgorithmRun& algorithm = run.algorithms[i];
    add(figures, fmt::format("{} accuracy {}", run.name, algorithm.label), "Accuracy of " + algorithm.label,
        "Faint: each client after training on its own data; dotted: mean of what clients receive; solid: mean after "
        "training. Dotted uprights mark where data changed.",
        detail::trajectory_svg(algorithm, i));
  }
  for (const AlgorithmRun& algorithm : run.algorithms) {
    if (const std::optional<detail::ProfileMap> map = detail::profile_map(algorithm)) {
      add(figures, fmt::format("{} profiles {}", run.name, algorithm.label), "Profiles of " + algorithm.label,
          fmt::format(
              "Each dot is a client's profile in a round, in the colour of its true distribution; large dots "
              "are of the last round, with its number beside them. The two dimensions keep {:.0f} % of the variance.",
              100 * map->explained),
          detail::profile_map_svg(*map, algorithm.label));
    }
    add(figures, fmt::format("{} mixing rounds {}", run.name, algorithm.label), "Mixing of " + algorithm.label,
        "The stronger a cell, the more of the column's model went into the row's; clients are sorted by true "
        "distribution.",
        detail::mixing_rounds_svg(algorithm));
    add(figures, fmt::format("{} mixing clients {}", run.name, algorithm.label),
        "Mixing of " + algorithm.label + " by client",
        "Whose models each client took, round by round: a row is a source, a column a round.",
        detail::mixing_clients_svg(algorithm));
  }
  number_names(figures);
  return figures;
}

std::vector<RunData> drawn_runs(const Study& study, std::size_t most) {
  std::vector<RunData> runs;
  for (std::size_t i = 0; i < study.groups.size() && runs.size() < most; ++i) {
    runs.push_back(load_run(study.set.runs[study.groups[i].first_run].folder));
  }
  return runs;
}

}  // namespace feroma
