#include "feroma/metrics/tally.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "feroma/core/error.h"
#include "feroma/core/portable_math.h"
#include "feroma/metrics/auc.h"

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

/// A float32 softmax can round a small probability to 0; that is unlikely, not impossible.
double surprise(float probability) {
  return -portable_log(static_cast<double>(probability == 0.0F ? std::numeric_limits<float>::min() : probability));
}

double probability_loss(std::span<const float> row, std::size_t label) { return surprise(row[label]); }

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

namespace {

/// Of one class; absent where there is nothing to rank.
std::optional<double> class_auc(std::span<const float> probabilities, std::span<const float> targets,
                                std::size_t classes, std::size_t which) {
  std::vector<double> with;
  std::vector<double> without;
  for (std::size_t i = which; i < targets.size(); i += classes) {
    (targets[i] > 0.5F ? with : without).push_back(static_cast<double>(probabilities[i]));
  }
  return area_under_curve(with, without);
}

}  // namespace

Tally tally_multi_label(std::span<const float> probabilities, int classes, std::span<const float> targets) {
  require(
      classes >= 1 && probabilities.size() == targets.size() && targets.size() % static_cast<std::size_t>(classes) == 0,
      ErrorCode::internal, "[tally] {} targets of {} classes cannot be compared with {} scores", targets.size(),
      classes, probabilities.size());
  const auto width = static_cast<std::size_t>(classes);
  Tally total;
  total.count = static_cast<std::int64_t>(targets.size() / width);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const float p = probabilities[i];
    total.loss_sum += (targets[i] > 0.5F ? surprise(p) : surprise(1.0F - p)) / static_cast<double>(classes);
  }
  constexpr double kChance = 0.5;
  double sum = 0;
  double ranked = 0;
  for (std::size_t c = 0; c < width; ++c) {
    if (const auto auc = class_auc(probabilities, targets, width, c)) {
      sum += *auc;
      ranked += 1;
    }
  }
  total.auroc = 100.0 * (ranked > 0 ? sum / ranked : kChance);
  return total;
}

Tally tally_logits(std::span<const float> logits, int classes, std::span<const std::int32_t> labels) {
  return tally(logits, classes, labels, logit_loss);
}

Tally tally_probabilities(std::span<const float> probabilities, int classes, std::span<const std::int32_t> labels) {
  return tally(probabilities, classes, labels, probability_loss);
}

}  // namespace feroma
