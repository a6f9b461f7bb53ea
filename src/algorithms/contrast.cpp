#include "algorithms/contrast.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "algorithms/dense.h"
#include "feroma/core/portable_math.h"

namespace feroma {
namespace {

/// A row this short has no direction.
constexpr double kShortest = 1e-12;

/// One row's loss, and its slope over the row's own similarities; 0 where the row is alone with its label.
double contrast_of_row(std::span<const float> similarities, std::size_t self, std::span<const std::int32_t> labels,
                       double temperature, std::span<float> slope) {
  double largest = -std::numeric_limits<double>::infinity();
  double positives = 0;
  for (std::size_t j = 0; j < labels.size(); ++j) {
    if (j != self) {
      largest = std::max(largest, static_cast<double>(similarities[j]) / temperature);
      positives += labels[j] == labels[self] ? 1 : 0;
    }
  }
  if (positives == 0) {
    return 0;
  }
  std::vector<double> weights(labels.size());
  double sum = 0;
  double attraction = 0;
  for (std::size_t j = 0; j < labels.size(); ++j) {
    if (j != self) {
      const double scaled = static_cast<double>(similarities[j]) / temperature - largest;
      weights[j] = portable_exp(scaled);
      sum += weights[j];
      attraction += labels[j] == labels[self] ? scaled : 0;
    }
  }
  for (std::size_t j = 0; j < labels.size(); ++j) {
    const double wanted = j != self && labels[j] == labels[self] ? 1 / positives : 0;
    slope[j] = static_cast<float>((weights[j] / sum - wanted) / temperature);
  }
  return portable_log(sum) - attraction / positives;
}

}  // namespace

RowLoss supervised_contrast(std::span<const float> rows, std::size_t width, std::span<const std::int32_t> labels,
                            double temperature) {
  const std::size_t count = labels.size();
  std::vector<double> lengths = squared_norms(rows, width);
  std::vector<float> unit(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double length = std::sqrt(lengths[i / width]);
    unit[i] = length > kShortest ? static_cast<float>(static_cast<double>(rows[i]) / length) : 0.0F;
  }
  const std::vector<float> similarities = multiply(unit, transpose(unit, width), width);
  std::vector<float> slopes(similarities.size());
  std::map<std::int32_t, int> members;
  for (const std::int32_t label : labels) {
    ++members[label];
  }
  const auto anchors = static_cast<double>(
      std::count_if(labels.begin(), labels.end(), [&](std::int32_t label) { return members[label] > 1; }));
  RowLoss loss{0, std::vector<float>(rows.size())};
  if (anchors == 0) {
    return loss;
  }
  for (std::size_t i = 0; i < count; ++i) {
    loss.value += contrast_of_row(std::span(similarities).subspan(i * count, count), i, labels, temperature,
                                  std::span(slopes).subspan(i * count, count)) /
                  anchors;
  }
  // A similarity belongs to both of its rows.
  const std::vector<float> turned = transpose(slopes, count);
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    slopes[i] = (slopes[i] + turned[i]) / static_cast<float>(anchors);
  }
  const std::vector<float> pull = multiply(slopes, unit, count);
  for (std::size_t i = 0; i < count; ++i) {
    const double length = std::sqrt(lengths[i]);
    double along = 0;
    for (std::size_t j = i * width; j < (i + 1) * width; ++j) {
      along += static_cast<double>(pull[j]) * static_cast<double>(unit[j]);
    }
    for (std::size_t j = i * width; j < (i + 1) * width && length > kShortest; ++j) {
      loss.gradient[j] =
          static_cast<float>((static_cast<double>(pull[j]) - along * static_cast<double>(unit[j])) / length);
    }
  }
  return loss;
}

}  // namespace feroma
