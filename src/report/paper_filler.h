#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "feroma/report/paper_table.h"
#include "feroma/report/statistics.h"
#include "report/paper_map.h"

namespace feroma::detail {

/// A mean over cells, put into `value`: it stands only where as many are there as `value` needs. Its spread is taken as
/// the paper does, the root of the mean squared spread of the cells; its seeds are the fewest of a cell.
[[nodiscard]] PaperValue mean_over_cells(const std::vector<MeanDeviation>& cells, PaperValue value);

/// Which experiments of ours are behind a figure.
class Origin {
 public:
  /// `leveled` where the run's level means something.
  void add(const RunEntry& run, bool leveled);
  void write_to(PaperValue& value) const;

 private:
  std::set<std::string> datasets_;
  std::set<std::string> levels_;
  std::set<std::string> drifts_;
};

/// Finds our values for cells of the paper's tables, and keeps what there is to say about the search.
class Filler {
 public:
  Filler(const RunSet& set, const std::vector<OurResult>& results, const std::vector<PublishedFigure>& published)
      : set_(set), results_(results), published_(published) {}

  /// Our labels that have at least one of the experiments, each with its value beside the published one.
  std::map<std::string, PaperValue> fill(const std::vector<PaperCell>& cells, const PaperValue& beside);
  /// The published side alone.
  [[nodiscard]] PaperValue theirs(const PublishedFigure& figure, std::size_t cells) const;

  /// Whether several settings of ours fitted a cell.
  [[nodiscard]] bool several() const { return several_; }
  /// Labels of runs that would fit but for keys that they change in their preset.
  [[nodiscard]] const std::set<std::string>& variants() const { return variants_; }

 private:
  /// Figures of a cell in one setting: one value per seed.
  struct Seeds {
    const RunEntry* run = nullptr;  ///< one of those behind them
    std::vector<double> values;
    std::optional<std::string> not_applicable = {};  ///< why there are none
  };
  using SeedsBySetting = std::map<std::string, Seeds>;
  /// By label.
  using Found = std::map<std::string, SeedsBySetting>;

  Found find(const PaperCell& cell);
  /// Of several settings that fit a cell, the one with the most seeds.
  static const Seeds& fullest(const SeedsBySetting& settings);

  const RunSet& set_;
  const std::vector<OurResult>& results_;
  const std::vector<PublishedFigure>& published_;
  bool several_ = false;
  std::set<std::string> variants_;
};

}  // namespace feroma::detail
