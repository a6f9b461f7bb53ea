#include "report/client_line.h"

#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "feroma/core/error.h"
#include "feroma/core/number.h"
#include "report/csv.h"
#include "report/record_json.h"

namespace feroma::detail {
namespace {

template <class T>
T number_of(const std::string& text, const std::string& where) {
  const auto value = parse_number<T>(text);
  require(value.has_value(), ErrorCode::invalid_data, "{}: must be a number, got \"{}\"", where, text);
  return *value;
}

double percent_of(const std::string& text, const char* name, const std::string& where) {
  const auto value = number_of<double>(text, where);
  constexpr double kRounding = 1e-9;
  require(std::isnan(value) || (value >= 0 && value <= 100 + kRounding), ErrorCode::invalid_data,
          "{}: {} must be in 0..100, or nan where it was not told, got {}", where, name, text);
  return value;
}

}  // namespace

ClientLines::ClientLines() { std::iota(places_.begin(), places_.end(), std::size_t{0}); }

ClientLines::ClientLines(std::string_view header, const std::string& where) {
  const CsvColumns columns(header, where);
  count_ = columns.names().size();
  for (std::size_t i = 0; i < kClientColumns.size(); ++i) {
    const std::optional<std::size_t> place = columns.find(kClientColumns[i]);
    require(place.has_value(), ErrorCode::invalid_data, "{}: must have a column {}", where, kClientColumns[i]);
    places_[i] = *place;
  }
}

ClientLine ClientLines::parse(std::string_view line, const std::string& where) const {
  std::vector<std::string> fields = split_csv_line(line, where);
  require(fields.size() == count_, ErrorCode::invalid_data, "{}: must have {} columns, got {}", where, count_,
          fields.size());
  const auto field = [&](std::size_t column) -> std::string& { return fields[places_[column]]; };
  ClientLine read{std::move(field(0)), number_of<int>(field(1), where), {}};
  require(read.round >= 0 && read.round <= kMostRounds, ErrorCode::invalid_data, "{}: round must be in 0..{}, got {}",
          where, kMostRounds, read.round);
  read.client.client = number_of<std::uint32_t>(field(2), where);
  read.client.distribution = number_of<int>(field(3), where);
  read.client.num_examples = number_of<std::int64_t>(field(4), where);
  require(read.client.num_examples >= 0, ErrorCode::invalid_data, "{}: num_examples must be >= 0, got {}", where,
          read.client.num_examples);
  read.client.loss = number_of<double>(field(5), where);
  read.client.accuracy_before = percent_of(field(6), "accuracy_before", where);
  read.client.accuracy_after = percent_of(field(7), "accuracy_after", where);
  read.client.strategy = std::move(field(8));
  return read;
}

}  // namespace feroma::detail
