#include "feroma/report/figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "feroma/core/error.h"
#include "report/bar_chart.h"
#include "report/chart_style.h"
#include "report/file_stem.h"
#include "report/line_chart.h"
#include "report/mixing_chart.h"
#include "report/profile_map.h"
#include "report/rank_chart.h"
#include "report/sweep_chart.h"
#include "report/trajectory_chart.h"

namespace feroma {
namespace {

/// Of longer titles the beginning names the file.
constexpr std::size_t kLongestTitle = 160;

void add(std::vector<Figure>& figures, const std::string& name, std::string title, std::string caption,
         std::string svg) {
  if (!svg.empty()) {
    figures.push_back({detail::file_stem(name), std::move(title), std::move(caption), std::move(svg), ""});
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

/// A run folder, and which of its algorithms are drawn: the label in the run, and the one that tells it from others.
struct DrawnFolder {
  std::filesystem::path folder;
  std::map<std::string, std::string> labels;
};

/// The run with the least seed of each label of a setting: cells of a sweep hold one algorithm each.
std::vector<DrawnFolder> first_runs(const Study& study, const ResultGroup& group) {
  std::map<std::string, const OurResult*> first;
  for (const OurResult& result : study.results) {
    if (result.setting == group.setting) {
      const OurResult*& known = first[result.label];
      known = known == nullptr || result.result.seed < known->result.seed ? &result : known;
    }
  }
  std::vector<DrawnFolder> folders;
  for (const auto& [label, result] : first) {
    const std::filesystem::path& folder = study.set.runs[result->run].folder;
    auto place = std::find_if(folders.begin(), folders.end(),
                              [&folder](const DrawnFolder& drawn) { return drawn.folder == folder; });
    if (place == folders.end()) {
      place = folders.insert(place, DrawnFolder{folder, {}});
    }
    place->labels[result->result.label] = label;
  }
  return folders;
}

/// The algorithms of a run that are drawn, by the names that tell them apart.
RunData load_drawn(const DrawnFolder& drawn) {
  require(std::filesystem::exists(drawn.folder / "events.jsonl"), ErrorCode::invalid_data,
          "{}: must have events.jsonl to be drawn, and has not; of packed cells there are tables alone: use --runs 0",
          drawn.folder.string());
  RunData run = load_run(drawn.folder);
  std::erase_if(run.algorithms,
                [&drawn](const AlgorithmRun& algorithm) { return !drawn.labels.contains(algorithm.label); });
  for (AlgorithmRun& algorithm : run.algorithms) {
    algorithm.label = drawn.labels.at(algorithm.label);
  }
  return run;
}

/// Reads what the figures of a run will read, so that damage is known before anything is drawn.
void read_ahead(const RunData& run) {
  for (const AlgorithmRun& algorithm : run.algorithms) {
    for (const MixingFile& mixing : algorithm.mixing) {
      (void)read_mixing(mixing);
    }
    (void)detail::profile_map(algorithm);
  }
}

/// The runs of a setting that can be read; of the others a line in `damaged`, or the error where it is null.
std::vector<RunData> load_all(const std::vector<DrawnFolder>& folders, std::vector<std::string>* damaged) {
  std::vector<RunData> runs;
  for (const DrawnFolder& drawn : folders) {
    if (damaged == nullptr) {
      runs.push_back(load_drawn(drawn));
      continue;
    }
    try {
      RunData run = load_drawn(drawn);
      read_ahead(run);
      runs.push_back(std::move(run));
    } catch (const Error& error) {
      damaged->push_back(fmt::format("{}: is not drawn: {}", drawn.folder.string(), error.what()));
    }
  }
  return runs;
}

/// The algorithms of several runs of one setting, those that mix first: they have the most to show.
RunData joined_run(std::vector<RunData> runs) {
  const auto mixes = [](const AlgorithmRun& algorithm) { return !algorithm.mixing.empty(); };
  std::stable_partition(runs.begin(), runs.end(), [&mixes](const RunData& run) {
    return std::any_of(run.algorithms.begin(), run.algorithms.end(), mixes);
  });
  RunData joined = std::move(runs.front());
  for (std::size_t i = 1; i < runs.size(); ++i) {
    std::move(runs[i].algorithms.begin(), runs[i].algorithms.end(), std::back_inserter(joined.algorithms));
  }
  std::stable_partition(joined.algorithms.begin(), joined.algorithms.end(), mixes);
  return joined;
}

/// Every algorithm's headline, round by round.
detail::Plot accuracy_plot(const detail::CurveData& data) {
  const int every = data.last - data.first < 25 ? 1 : (data.last - data.first) / 20;
  detail::Plot plot{"Accuracy over rounds", "round", detail::headline_name(data) + " %", {}, {}};
  for (int round = data.first; round <= data.last; ++round) {
    plot.places.push_back((round - data.first) % every == 0 ? fmt::format("{}", round) : "");
  }
  for (const detail::Curve& curve : data.curves) {
    detail::Plot::Series series{curve.title(), {}, detail::Plot::Look::ours, plot.series.size(), curve.tested()};
    for (const std::optional<double>& value : curve.headline()) {
      series.values.push_back(value ? std::optional(MeanDeviation{*value, std::nullopt, 1}) : std::nullopt);
    }
    plot.series.push_back(std::move(series));
  }
  for (const int round : data.drifts) {
    plot.drifts.push_back(round - data.first - 0.5);  // data change between two rounds
  }
  return plot;
}

bool was_tested(const AlgorithmRun& algorithm) {
  return std::any_of(algorithm.rounds.begin(), algorithm.rounds.end(),
                     [](const RoundRecord& round) { return round.test_accuracy.has_value(); });
}

/// Who took from whom, by round and by client.
void add_mixing(const std::string& run, const AlgorithmRun& algorithm, std::vector<Figure>& figures) {
  add(figures, fmt::format("{} mixing rounds {}", run, algorithm.label), "Mixing of " + algorithm.label,
      "The stronger a cell, the more of the column's model went into the row's; clients are sorted by true "
      "distribution." +
          detail::mixing_rounds_shown(algorithm).sentence("rounds, evenly and with the last"),
      detail::mixing_rounds_svg(algorithm));
  const detail::ShownPart rounds{detail::mixing_client_rounds(algorithm).size(), algorithm.mixing.size()};
  add(figures, fmt::format("{} mixing clients {}", run, algorithm.label), "Mixing of " + algorithm.label + " by client",
      "Whose models a client took, round by round: a row is a source, a column a round." +
          detail::mixing_clients_shown(algorithm).sentence("clients, the first") + rounds.sentence("rounds, evenly"),
      detail::mixing_clients_svg(algorithm));
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
            "Mean ranks over {}, 1 is best; a bar joins algorithms that the Nemenyi test does not tell apart at 0.05.",
            study.comparison->count_text(study.comparison->friedman.blocks)),
        detail::rank_chart_svg(*study.comparison));
  }
  for (const detail::Plot& plot : detail::sweep_plots(study, published)) {
    add(figures, plot.title.substr(0, kLongestTitle), plot.title,
        "Mean over seeds, with bars of one standard deviation where there are several; dashed is what the paper "
        "states, dotted the association known." +
            (plot.remark.empty() ? std::string() : " " + plot.remark),
        detail::plot_svg(plot));
    figures.back().numbers = detail::plot_table_html(plot);
  }
  constexpr std::size_t kMostCosts = 6;
  const std::size_t all = study.groups.size();
  const std::string part =
      all > kMostCosts ? fmt::format(" Drawn are the costs of {} of {} settings.", kMostCosts, all) : std::string();
  for (std::size_t i = 0; i < all && i < kMostCosts; ++i) {
    const ResultGroup& group = study.groups[i];
    add(figures, "cost " + group.name, "Costs: " + group.title,
        "Time and traffic of each algorithm, mean over seeds; the tables of the settings have the numbers." + part,
        detail::cost_bars_svg(group));
  }
  number_names(figures);
  return figures;
}

std::vector<Figure> run_figures(const RunData& run) {
  std::vector<Figure> figures;
  if (run.algorithms.size() > 1) {
    const detail::CurveData data = detail::curves_of(run.algorithms);
    const detail::Plot plot = accuracy_plot(data);
    add(figures, fmt::format("{} accuracy", run.name), plot.title,
        detail::headline_sentences(data) + (plot.drifts.empty() ? "" : " Dotted uprights mark where data changed."),
        detail::plot_svg(plot));
  }
  for (std::size_t i = 0; i < run.algorithms.size(); ++i) {
    const AlgorithmRun& algorithm = run.algorithms[i];
    const detail::ShownPart clients = detail::drawn_clients(algorithm);
    add(figures, fmt::format("{} accuracy {}", run.name, algorithm.label), "Accuracy of " + algorithm.label,
        fmt::format(
            "Faint: {} after training on its own data; dotted: accuracy as served, the mean over training clients "
            "of what each receives; dashed: their mean after training{}. Dotted uprights mark where data "
            "changed.{}",
            clients.whole() ? "each client" : "a client",
            was_tested(algorithm) ? "; solid: test accuracy, over test clients served the method's own way" : "",
            clients.sentence("clients, evenly; means are over all")),
        detail::trajectory_svg(algorithm, i));
  }
  for (const AlgorithmRun& algorithm : run.algorithms) {
    if (const std::optional<detail::ProfileMap> map = detail::profile_map(algorithm)) {
      add(figures, fmt::format("{} profiles {}", run.name, algorithm.label), "Profiles of " + algorithm.label,
          fmt::format("Each dot is a client's profile in a round, in the colour of its true distribution; large dots "
                      "are of the last round, with its number beside them. The two dimensions keep {:.0f} % of the "
                      "variance.{}",
                      100 * map->explained,
                      map->profiles.sentence("profiles, those of the last rounds and evenly over clients")),
          detail::profile_map_svg(*map, algorithm.label));
    }
    add_mixing(run.name, algorithm, figures);
  }
  number_names(figures);
  return figures;
}

std::vector<std::string> undrawn_figures(const RunData& run) {
  std::vector<std::string> lines;
  for (const AlgorithmRun& algorithm : run.algorithms) {
    if (detail::mixes_too_many(algorithm)) {
      lines.push_back(fmt::format(
          "mixing of {} is not drawn: a figure of more than {} clients would have too many cells to be seen; the page "
          "has a map of it that can be played, unless that too would hold too many",
          algorithm.label, detail::kMixingMost));
    }
  }
  return lines;
}

std::vector<RunData> drawn_runs(const Study& study, std::size_t most, std::vector<std::string>* damaged) {
  std::vector<RunData> runs;
  for (std::size_t i = 0; i < study.groups.size() && runs.size() < most; ++i) {
    const ResultGroup& group = study.groups[i];
    std::vector<RunData> loaded = load_all(first_runs(study, group), damaged);
    if (loaded.empty()) {
      continue;
    }
    runs.push_back(joined_run(std::move(loaded)));
    // A cell of a sweep is named after its hash; people know it by its setting.
    runs.back().name = group.name;
    runs.back().title = group.title;
  }
  return runs;
}

}  // namespace feroma
