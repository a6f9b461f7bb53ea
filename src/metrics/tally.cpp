#include "feroma/metrics/tally.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "feroma/core/error.h"
#include "feroma/core/portable_math.h"

namespace feroma {
namespace {

/// Index of the largest score; -1 where one is not a number, which no label equals.
std::int32_t top_class(std::span<const float> row) {
  std::size_t best = 0;
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (std::isnan(row[c])) {
      return -1;
    }
    if (row[c] > row[best]) {
      best = c;
    }
  }
  return static_cast<std::int32_t>(best);
}

double logit_loss(std::span<const float> row, std::size_t label) {
  // Shifting by the largest logit keeps exp from overflowing.
  const double shift = static_cast<double>(*std::max_element(row.begin(), row.end()));
  double sum = 0;
  for (const float logit : row) {
    sum += portable_exp(static_cast<double>(logit) - shift);
  }
  return portable_log(sum) + shift - static_cast<double>(row[label]);
}

double probability_loss(std::span<const float> row, std::size_t label) {
  // A float32 softmax can round a small probability to 0; that is unlikely, not impossible.
  const float probability = row[label] == 0.0F ? std::numeric_limits<float>::min() : row[label];
  return -portable_log(static_cast<double>(probability));
}

template <class Loss>
Tally tally(std::span<const float> scores, int classes, std::span<const std::int32_t> labels, Loss loss) {
  require(classes >= 1, ErrorCode::internal, "[tally] classes must be >= 1, got {}", classes);
  const auto width = static_cast<std::size_t>(classes);
  require(scores.size() == labels.size() * width, ErrorCode::internal,
          "[tally] {} labels of {} classes need {} scores, got {}", labels.size(), classes, labels.size() * width,
          scores.size());
  Tally total;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::int32_t label = labels[i];
    require(label >= 0 && label < classes, ErrorCode::invalid_data, "[tally] a label must be in 0..{}, got {}",
            classes - 1, label);
    const std::span<const float> row = scores.subspan(i * width, width);
    const std::int32_t top = top_class(row);
    total.loss_sum += top < 0 ? std::numeric_limits<double>::quiet_NaN() : loss(row, static_cast<std::size_t>(label));
    total.correct += top == label ? 1 : 0;
    total.count += 1;
  }
  return total;
}

}  // namespace

Tally tally_logits(std::span<const float> logits, int classes, std::span<const std::int32_t> labels) {
  return tally(logits, classes, labels, logit_loss);
}

Tally tally_probabilities(std::span<const float> probabilities, int classes, std::span<const std::int32_t> labels) {
  return tally(probabilities, classes, labels, probability_loss);
}

}  // namespace feroma
