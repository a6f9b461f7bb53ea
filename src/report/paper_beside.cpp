#include "report/paper_beside.h"

#include <string>

namespace feroma::detail {
namespace {

/// Whether a figure is one of those that a mean of the main tables is taken over anew.
bool is_part_of_main(const PublishedFigure& part, const PublishedFigure& mean) {
  const bool wanted = part.method == "Feroma" && part.dataset == mean.dataset &&
                      (mean.level == "all" || part.level == mean.level) &&
                      (mean.drift == "all" || part.drift == mean.drift);
  const bool other_shift = part.table.starts_with("main_appe_") && part.shift != "P(Y|X)";
  const bool few = part.table.starts_with("pyx_few_sample_") && part.variant == "Few labeled samples";
  return wanted && (other_shift || few);
}

/// The same for a mean over distances, by what stands behind the swapped headings of its parts.
bool is_part_of_distances(const PublishedFigure& part, const PublishedFigure& mean) {
  return headings_are_swapped(part.table) && part.dataset == mean.dataset && part.variant == mean.variant &&
         behind_heading(part.level, part.drift).second == mean.drift;
}

}  // namespace

std::vector<PaperCell> cells_of_others(const PublishedFigure& figure) {
  if (!figure.table.starts_with("main_table_") && !figure.table.starts_with("main_appe_")) {
    return {};
  }
  std::vector<PaperCell> cells = cells_of(figure);
  for (PaperCell& cell : cells) {
    cell.algorithm.clear();
    cell.figure = cell.figure == Pick::few_label ? Pick::few_label_or_known : cell.figure;
  }
  return cells;
}

std::vector<PaperCell> cells_aside(const PublishedFigure& figure) {
  const bool distances = figure.table.starts_with("dft_") || figure.table == "3x1_table";
  const bool budget = figure.variant.starts_with("epsilon=");
  const bool known_mean = figure.table == "n_client_all" && figure.method == "Feroma";
  if (!distances && !budget && !known_mean) {
    return {};
  }
  std::vector<PaperCell> cells = cells_of(figure);
  for (PaperCell& cell : cells) {
    const std::string other = distances ? "scenario.dataset" : budget ? "privacy.mode" : "";
    cell.told_apart_by = other;
    for (Condition& condition : cell.run) {
      condition.rule = condition.key == other ? Condition::Rule::differs : condition.rule;
    }
    if (distances) {  // other data may need other inputs
      std::erase_if(cell.run, [](const Condition& condition) { return condition.key == kStandardise; });
    }
    if (budget) {
      cell.run.push_back({other, "off", Condition::Rule::differs, true});
    }
    if (known_mean) {
      cell.figure = cell.figure == Pick::known ? Pick::few_label : cell.figure;
      cell.remark = "few labels";
    }
  }
  return cells;
}

std::vector<const PublishedFigure*> few_label_parts(const PublishedFigure& figure,
                                                    const std::vector<PublishedFigure>& all) {
  const bool distances = figure.table == "3x1_table";
  if (figure.method != "Feroma" || figure.shift != "all" || !(distances || figure.table.starts_with("main_table_"))) {
    return {};
  }
  std::vector<const PublishedFigure*> parts;
  for (const PublishedFigure& part : all) {
    if (distances ? is_part_of_distances(part, figure) : is_part_of_main(part, figure)) {
      parts.push_back(&part);
    }
  }
  return parts.size() == cells_of(figure).size() ? parts : std::vector<const PublishedFigure*>{};
}

bool is_of_other_data(const PublishedFigure& figure) {
  const bool parted = figure.table.starts_with("stoc_") || headings_are_swapped(figure.table);
  return (parted && figure.shift == "P(Y)") || figure.table == "3x1_table";  // a quarter of whose means is dft_py
}

}  // namespace feroma::detail
