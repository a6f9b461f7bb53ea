#include "data/column_questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "feroma/core/error.h"
#include "feroma/core/number.h"
#include "feroma/data/own_folder.h"

namespace feroma::detail {
namespace {

/// Unix times from 1990 to 2099, in seconds; others are of thousandths, millionths and billionths of them.
constexpr double kFirstSecond = 631'152'000;
constexpr double kLastSecond = 4'102'444'800;
constexpr std::array<std::pair<double, std::string_view>, 4> kUnits{
    {{1, "seconds"}, {1e3, "milliseconds"}, {1e6, "microseconds"}, {1e9, "nanoseconds"}}};

/// A class with fewer samples than this cannot be learned, so a label with mostly such values is none.
constexpr std::size_t kFewSamples = 10;
/// So many different values may be classes: surely where they are fewer than `few`, never where they are more than
/// `many`, and in between where most of them occur often enough.
struct Limits {
  std::size_t few;
  std::size_t many;
};
constexpr Limits kWholeNumbers{100, 1000};
constexpr Limits kFractions{20, 100};
constexpr Limits kWords{1000, std::numeric_limits<std::size_t>::max()};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "2013-03-01", "1.3.2013", "2013-03-01T00:00:07Z", "00:30": digits, with separators of dates or times between them.
bool is_date(std::string_view cell) {
  int separators = 0;
  for (std::size_t i = 1; i + 1 < cell.size(); ++i) {
    const bool between = is_digit(cell[i - 1]) && is_digit(cell[i + 1]);
    separators += between && std::string_view("-/:.").find(cell[i]) != std::string_view::npos ? 1 : 0;
  }
  const bool only_digits = cell.find_first_not_of("0123456789-/:. TZ+") == std::string_view::npos;
  return only_digits && !cell.empty() && is_digit(cell.front()) && !parse_number<double>(cell) &&
         (separators >= 2 || cell.find(':') != std::string_view::npos);
}

/// The unit in which all of a column are Unix times; absent where they are not.
std::optional<std::string_view> unix_unit(const CsvTable& table, std::size_t column) {
  double least = 0;
  double most = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto value = parse_number<double>(table.cell(row, column));
    if (!value || *value != std::floor(*value)) {
      return std::nullopt;
    }
    least = row == 0 ? *value : std::min(least, *value);
    most = row == 0 ? *value : std::max(most, *value);
  }
  for (const auto& [factor, unit] : kUnits) {
    if (least >= kFirstSecond * factor && most <= kLastSecond * factor && least < most) {
      return unit;
    }
  }
  return std::nullopt;
}

struct LabelTarget {
  std::size_t values = 0;  ///< different ones that occur
  std::size_t rare = 0;    ///< of them with few samples
};

LabelTarget target_of(const Dataset& dataset) {
  std::vector<std::size_t> counts(static_cast<std::size_t>(dataset.classes));
  for (const Samples* samples : {&dataset.train, &dataset.test}) {
    for (const std::int32_t label : samples->labels) {
      ++counts.at(static_cast<std::size_t>(label));
    }
  }
  LabelTarget target;
  for (const std::size_t count : counts) {
    target.values += count > 0 ? 1U : 0U;
    target.rare += count > 0 && count < kFewSamples ? 1U : 0U;
  }
  return target;
}

Limits limits_of(const Dataset& dataset) {
  std::size_t numbers = 0;
  bool fractions = false;
  for (const std::string& name : dataset.class_names) {
    const auto value = parse_number<double>(name);
    numbers += value ? 1U : 0U;
    fractions = fractions || (value && *value != std::floor(*value));
  }
  // A few may say that a number is missing.
  const bool words = numbers * 10 < dataset.class_names.size() * 9;
  return words ? kWords : fractions ? kFractions : kWholeNumbers;
}

/// Why a column would not be taken for numbers to learn from; empty where it would.
std::string column_question(const CsvTable& table, std::size_t column) {
  if (table.rows() == 0) {
    return "";
  }
  const std::string_view first = table.cell(0, column);
  const std::string& name = table.columns()[column];
  if (is_date(first)) {
    return fmt::format("{}: column \"{}\" holds times (\"{}\")", table.name(), name, first);
  }
  if (const std::optional<std::string_view> unit = unix_unit(table, column)) {
    return fmt::format("{}: column \"{}\" looks like times (Unix {}, \"{}\")", table.name(), name, *unit, first);
  }
  if (!first.empty() && !parse_number<double>(first)) {
    return fmt::format("{}:{}: column \"{}\" must be a finite number, got \"{}\"", table.name(), table.line(0), name,
                       first);
  }
  return "";
}

}  // namespace

void ask_about_inputs(const CsvTable& table, std::span<const std::size_t> unclaimed, const std::string& description) {
  std::vector<std::string_view> numbers;
  std::string question;
  for (const std::size_t column : unclaimed) {
    const std::string problem = column_question(table, column);
    if (problem.empty()) {
      numbers.push_back(table.columns()[column]);
    } else if (question.empty()) {
      question = problem;
    }
  }
  if (!question.empty()) {
    throw OpenQuestion(ErrorCode::invalid_config,
                       fmt::format("{}; dataset.input_columns must name the columns that models learn from in {}{}{}",
                                   question, description, numbers.empty() ? "" : ", of ", fmt::join(numbers, ", ")));
  }
}

void ask_about_target(const Dataset& dataset, std::string_view key, std::string_view folder) {
  const LabelTarget target = target_of(dataset);
  const Limits limits = limits_of(dataset);
  const bool plausible =
      target.values <= limits.few || (target.values <= limits.many && target.rare * 2 <= target.values);
  require(
      plausible, ErrorCode::invalid_data,
      "[dataset] {}: {} has {} different values, {} of them with fewer than {} samples: if it is a quantity, make a "
      "few classes of it; if these are classes, dataset.classes (for labels from 0 on) or dataset.class_names must "
      "say so",
      folder, key, target.values, target.rare, kFewSamples);
}

}  // namespace feroma::detail
