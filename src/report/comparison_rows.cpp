#include "report/comparison_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "report/cell_text.h"

namespace feroma::detail {
namespace {

std::vector<std::string> row_of(const Comparison& comparison, const std::string& label,
                                const std::optional<double>& rank) {
  const auto p = [](const std::optional<double>& value) { return value ? p_text(*value) : std::string("-"); };
  std::vector<std::string> row{label, rank ? fmt::format("{:.2f}", *rank) : std::string("-")};
  const auto found = std::find_if(comparison.pairs.begin(), comparison.pairs.end(),
                                  [&label](const Comparison::Pair& pair) { return pair.label == label; });
  if (found == comparison.pairs.end()) {  // nobody is tested against itself
    row.insert(row.end(), 5, "-");
    return row;
  }
  row.push_back(fmt::format("{:+.2f}", found->mean_difference));
  row.push_back(fmt::format("{}", found->n));
  row.push_back(p(found->wilcoxon ? std::optional(found->wilcoxon->p) : std::nullopt));
  row.push_back(p(found->adjusted));
  row.push_back(p(found->t ? std::optional(found->t->p) : std::nullopt));
  return row;
}

}  // namespace

std::vector<std::string> comparison_headings(const Comparison& comparison) {
  return {"algorithm",  "mean rank", fmt::format("{} leads by", comparison.reference), "n", "Wilcoxon p",
          "after Holm", "t test p"};
}

std::vector<std::vector<std::string>> comparison_rows(const Comparison& comparison) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < comparison.labels.size(); ++i) {
    rows.push_back(row_of(comparison, comparison.labels[i], comparison.friedman.mean_ranks[i]));
  }
  for (const Comparison::Pair& pair : comparison.pairs) {
    const std::vector<std::string>& out = comparison.labels_left_out;
    if (std::find(out.begin(), out.end(), pair.label) != out.end()) {
      rows.push_back(row_of(comparison, pair.label, std::nullopt));
    }
  }
  return rows;
}

}  // namespace feroma::detail
