#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "feroma/report/paper_table.h"
#include "feroma/report/statistics.h"
#include "report/paper_map.h"

namespace feroma::detail {

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
  /// Figures of a cell, by label and setting: one value per seed.
  using Found = std::map<std::string, std::map<std::string, std::vector<double>>>;

  Found find(const PaperCell& cell);

  const RunSet& set_;
  const std::vector<OurResult>& results_;
  const std::vector<PublishedFigure>& published_;
  bool several_ = false;
  std::set<std::string> variants_;
};

}  // namespace feroma::detail
