#include "feroma/data/input_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "feroma/core/error.h"

namespace feroma {
namespace {

/// So many times the others' values a client's are at most. With a tenth of all samples it could then make everybody's
/// inputs ten times too small, and no smaller; two sites that measure in metres and in centimetres are told apart.
constexpr double kMostTimesLarger = 30;
/// So many times the others' samples a client has at most.
constexpr double kMostTimesMore = 1000;
/// What sums of rounded products may lack of a variance that is not negative.
constexpr double kSumRounding = 1e-6;
/// A variance this small beside the mean square is rounding.
constexpr double kNoSpread = 1e-12;

constexpr double kWholeByte = 255.0;

template <class Total>
struct SumPair {
  Total sum = 0;
  Total squares = 0;

  void operator+=(const SumPair& other) {
    sum += other.sum;
    squares += other.squares;
  }
};

/// Bytes are added up as whole numbers, where 255 stands for 1; numbers as they are.
template <class Stored>
struct SumRule;
template <>
struct SumRule<std::uint8_t> {
  using Total = std::uint64_t;
  static constexpr std::uint8_t kTint = 255;
  static constexpr double kUnit = kWholeByte;
  static const std::uint8_t* data(const Samples& samples) { return samples.pixels.data(); }
};
template <>
struct SumRule<float> {
  using Total = double;
  static constexpr float kTint = 1.0F;
  static constexpr double kUnit = 1.0;
  static const float* data(const Samples& samples) { return samples.values.data(); }
};

template <class Stored>
SumPair<typename SumRule<Stored>::Total> sums_in(const Stored* values, std::size_t count) {
  using Total = typename SumRule<Stored>::Total;
  SumPair<Total> pair;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<Total>(values[i]);
    pair.sum += value;
    pair.squares += value * value;
  }
  return pair;
}

template <class Stored>
InputSums sums_over(const View& view) {
  using Total = typename SumRule<Stored>::Total;
  const Samples& samples = *view.samples;
  const std::size_t entries = scale_count(view.shape);
  const std::size_t run = static_cast<std::size_t>(view.shape.size()) / entries;
  const auto stride = static_cast<std::size_t>(samples.shape.size());
  const bool is_gray = stride != run * entries;  // one stored channel that is seen as several
  const auto tint_value = static_cast<Total>(SumRule<Stored>::kTint);
  const SumPair<Total> tinted{tint_value * static_cast<Total>(run), tint_value * tint_value * static_cast<Total>(run)};
  std::vector<SumPair<Total>> totals(entries);
  for (const ViewItem& item : view.items) {
    const Stored* const stored = SumRule<Stored>::data(samples) + item.source * stride;
    const auto label = static_cast<std::size_t>(samples.labels[item.source]);
    const int tint = view.recipes[item.recipe].transform_of_class[label].tint;
    const SumPair<Total> gray = is_gray ? sums_in(stored, run) : SumPair<Total>();
    for (std::size_t entry = 0; entry < entries; ++entry) {
      const bool is_tinted = !is_table(view.shape) && tint == static_cast<int>(entry);
      totals[entry] += is_tinted ? tinted : is_gray ? gray : sums_in(stored + entry * run, run);
    }
  }
  InputSums result{static_cast<std::int64_t>(view.size()), {}, {}};
  constexpr double unit = SumRule<Stored>::kUnit;
  for (const SumPair<Total>& total : totals) {
    result.sums.push_back(static_cast<double>(total.sum) / unit);
    result.squares.push_back(static_cast<double>(total.squares) / (unit * unit));
  }
  return result;
}

double values_behind(const InputSums& sums, SampleShape shape) {
  return static_cast<double>(sums.samples) * static_cast<double>(shape.size()) /
         static_cast<double>(scale_count(shape));
}

/// How large a client's values of an input are.
double size_of(const InputSums& sums, std::size_t entry) {
  return std::sqrt(sums.squares[entry] / static_cast<double>(sums.samples));
}

double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Clients whose values are more than `most` times the median, and how many times. Where most have nothing but zeros,
/// whoever has more can move only what they have not.
std::map<ClientId, double> outliers(const std::map<ClientId, double>& values, double most) {
  std::vector<double> sorted;
  for (const auto& [client, value] : values) {
    sorted.push_back(value);
  }
  const double median = middle_of(std::move(sorted));
  std::map<ClientId, double> found;
  for (const auto& [client, value] : values) {
    if (median > 0 && value > most * median) {
      found[client] = value / median;
    }
  }
  return found;
}

/// "2 (pressure)": its number from 1, and its name where it has one.
std::string input_name(std::size_t entry, std::span<const std::string> columns) {
  return entry < columns.size() ? fmt::format("{} ({})", entry + 1, columns[entry]) : std::to_string(entry + 1);
}

}  // namespace

InputSums input_sums(const View& view) {
  return view.samples->values.empty() ? sums_over<std::uint8_t>(view) : sums_over<float>(view);
}

void check_input_sums(ClientId client, const InputSums& sums, SampleShape shape) {
  constexpr double most = std::numeric_limits<float>::max();
  const auto check = [client](bool holds, std::size_t entry, std::string_view rule, double got) {
    require(holds, ErrorCode::invalid_data, "[standardise] client {}'s sums of input {} {}, got {}", to_index(client),
            entry + 1, rule, got);
  };
  const std::size_t entries = scale_count(shape);
  require(sums.sums.size() == entries && sums.squares.size() == entries, ErrorCode::invalid_data,
          "[standardise] client {}'s sums must be of {} inputs, got {} and {}", to_index(client), entries,
          sums.sums.size(), sums.squares.size());
  require(sums.samples >= 1, ErrorCode::invalid_data, "[standardise] client {}'s samples must be >= 1, got {}",
          to_index(client), sums.samples);
  const double count = values_behind(sums, shape);
  for (std::size_t entry = 0; entry < entries; ++entry) {
    check(std::isfinite(sums.sums[entry]), entry, "must be finite", sums.sums[entry]);
    check(std::isfinite(sums.squares[entry]), entry, "must be finite", sums.squares[entry]);
    const double mean = sums.sums[entry] / count;
    const double square = sums.squares[entry] / count;
    check(square >= mean * mean * (1 - kSumRounding), entry, "must have no negative variance", square - mean * mean);
    check(std::sqrt(square) <= most, entry, "must be those of 32-bit numbers", std::sqrt(square));
  }
}

std::map<ClientId, std::string> inflated_sums(const std::map<ClientId, InputSums>& all,
                                              std::span<const std::string> columns) {
  std::map<ClientId, std::string> refused;
  if (all.size() < 3) {
    return refused;
  }
  std::map<ClientId, double> values;
  for (const auto& [client, sums] : all) {
    values[client] = static_cast<double>(sums.samples);
  }
  for (const auto& [client, times] : outliers(values, kMostTimesMore)) {
    refused.emplace(client, fmt::format("[standardise] it counts {:.0f} times as many samples as the others, at most "
                                        "{:.0f} are believed",
                                        times, kMostTimesMore));
  }
  for (std::size_t entry = 0; entry < all.begin()->second.sums.size(); ++entry) {
    for (const auto& [client, sums] : all) {
      values[client] = size_of(sums, entry);
    }
    for (const auto& [client, times] : outliers(values, kMostTimesLarger)) {
      refused.emplace(client, fmt::format("[standardise] its input {} is {:.0f} times as large as the others', at most "
                                          "{:.0f} are believed: has it another unit?",
                                          input_name(entry, columns), times, kMostTimesLarger));
    }
  }
  return refused;
}

std::string unlike_sums(const std::map<ClientId, InputSums>& all, std::span<const std::string> columns) {
  if (all.size() != 2) {
    return "";
  }
  const InputSums& first = all.begin()->second;
  const InputSums& second = all.rbegin()->second;
  for (std::size_t entry = 0; entry < first.sums.size(); ++entry) {
    const auto [smaller, larger] = std::minmax({size_of(first, entry), size_of(second, entry)});
    if (smaller > 0 && larger > kMostTimesLarger * smaller) {
      return fmt::format("input {} of one is {:.0f} times as large as the other's", input_name(entry, columns),
                         larger / smaller);
    }
  }
  return "";
}

InputScales scales_of(const std::map<ClientId, InputSums>& all, SampleShape shape) {
  const std::size_t entries = scale_count(shape);
  double count = 0;
  std::vector<SumPair<double>> totals(entries);
  for (const auto& [client, sums] : all) {
    count += values_behind(sums, shape);
    for (std::size_t entry = 0; entry < entries; ++entry) {
      totals[entry] += {sums.sums[entry], sums.squares[entry]};
    }
  }
  require(count > 0, ErrorCode::invalid_data, "[standardise] somebody must have a sample, got none");
  InputScales scales;
  for (const SumPair<double>& total : totals) {
    const double mean = total.sum / count;
    const double square = total.squares / count;
    const double variance = square - mean * mean;
    const auto factor = static_cast<float>(variance > kNoSpread * square ? 1.0 / std::sqrt(variance) : 1.0);
    // Some values are so near to one another that 32 bits cannot spread them.
    const float usable = std::isnormal(factor) ? factor : 1.0F;
    scales.push_back({usable, static_cast<float>(-mean * static_cast<double>(usable))});
  }
  return scales;
}

}  // namespace feroma
