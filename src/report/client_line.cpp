#include "report/client_line.h"

#include <cmath>
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

ClientLine parse_client_line(std::string_view line, const std::string& where) {
  constexpr std::size_t kColumns = 9;
  std::vector<std::string> fields = split_csv_line(line, where);
  require(fields.size() == kColumns, ErrorCode::invalid_data, "{}: must have {} columns, got {}", where, kColumns,
          fields.size());
  ClientLine read{std::move(fields[0]), number_of<int>(fields[1], where), {}};
  require(read.round >= 0 && read.round <= kMostRounds, ErrorCode::invalid_data, "{}: round must be in 0..{}, got {}",
          where, kMostRounds, read.round);
  read.client.client = number_of<std::uint32_t>(fields[2], where);
  read.client.distribution = number_of<int>(fields[3], where);
  read.client.num_examples = number_of<std::int64_t>(fields[4], where);
  require(read.client.num_examples >= 0, ErrorCode::invalid_data, "{}: num_examples must be >= 0, got {}", where,
          read.client.num_examples);
  read.client.loss = number_of<double>(fields[5], where);
  read.client.accuracy_before = percent_of(fields[6], "accuracy_before", where);
  read.client.accuracy_after = percent_of(fields[7], "accuracy_after", where);
  read.client.strategy = std::move(fields[8]);
  return read;
}

}  // namespace feroma::detail
