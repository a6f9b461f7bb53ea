#include "feroma/report/console.h"

#include <vector>

#include "report/result_table.h"
#include "report/text_grid.h"

namespace feroma {

std::string results_table(std::span<const ResultRecord> results) {
  std::vector<std::vector<detail::TextCell>> rows(results.size() + 1);
  rows[0].push_back({"algorithm"});
  for (std::size_t i = 0; i < results.size(); ++i) {
    rows[i + 1].push_back({results[i].label});
  }
  for (const detail::ResultColumn& column : detail::result_columns(results)) {
    rows[0].push_back({column.title});
    for (std::size_t i = 0; i < results.size(); ++i) {
      rows[i + 1].push_back({column.texts[i]});
    }
  }
  return detail::text_grid(rows, /*left=*/1, /*colour=*/false);
}

std::string results_notes(std::span<const ResultRecord> results) {
  std::string notes;
  for (const std::string& line : detail::explanations_of(detail::result_columns(results))) {
    notes += line + "\n";
  }
  return notes;
}

}  // namespace feroma
