#include "feroma/data/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "feroma/core/error.h"
#include "feroma/core/options.h"

namespace feroma {
namespace {

bool has_column(std::span<const std::string> columns, const std::string& name) {
  return std::find(columns.begin(), columns.end(), name) != columns.end();
}

}  // namespace

std::string column_problem(const Samples& samples, std::span<const std::string> wanted) {
  if (samples.columns.empty() || wanted.empty()) {
    return "";
  }
  if (samples.columns.size() != wanted.size()) {
    return fmt::format("must have {} columns like the training data, got {}", wanted.size(), samples.columns.size());
  }
  for (const std::string& name : wanted) {
    if (!has_column(samples.columns, name)) {
      const auto other = std::find_if(samples.columns.begin(), samples.columns.end(),
                                      [&](const std::string& column) { return !has_column(wanted, column); });
      return fmt::format("must have a column \"{}\" like the training data; \"{}\" is none of theirs", name, *other);
    }
  }
  return "";
}

bool needs_arranging(const Samples& samples, std::span<const std::string> wanted) {
  return !samples.columns.empty() && !wanted.empty() &&
         !std::equal(samples.columns.begin(), samples.columns.end(), wanted.begin(), wanted.end());
}

void arrange_columns_(Samples& samples, std::span<const std::string> wanted, const std::string& what) {
  const std::string problem = column_problem(samples, wanted);
  require(problem.empty(), ErrorCode::invalid_data, "{}: {}", what, problem);
  if (!needs_arranging(samples, wanted)) {
    return;
  }
  std::vector<std::size_t> places;
  for (const std::string& name : wanted) {
    places.push_back(static_cast<std::size_t>(std::find(samples.columns.begin(), samples.columns.end(), name) -
                                              samples.columns.begin()));
  }
  std::vector<float> row(places.size());
  for (std::size_t begin = 0; begin < samples.values.size(); begin += row.size()) {
    const auto values = std::span(samples.values).subspan(begin, row.size());
    std::transform(places.begin(), places.end(), row.begin(), [&](std::size_t place) { return values[place]; });
    std::copy(row.begin(), row.end(), values.begin());
  }
  samples.columns.assign(wanted.begin(), wanted.end());
}

}  // namespace feroma
