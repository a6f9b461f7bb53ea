#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace feroma {

/// Loss and accuracy as sums over samples, so that tallies add exactly and the mean is defined once.
struct Tally {
  double loss_sum = 0;
  std::int64_t correct = 0;
  std::int64_t count = 0;
  std::optional<double> auroc = {};  ///< multi-label data have no hits but a macro AUROC in percent, which does not add

  Tally& operator+=(const Tally& other) {
    loss_sum += other.loss_sum;
    correct += other.correct;
    count += other.count;
    return *this;
  }
  /// Of somebody who told nothing: neither loss nor accuracy is a number.
  [[nodiscard]] static Tally untold() {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    return {.loss_sum = kNone, .auroc = kNone};
  }

  /// The mean over samples; over none the sum as it is, which is 0 or not told.
  [[nodiscard]] double loss() const { return count == 0 ? loss_sum : loss_sum / static_cast<double>(count); }
  /// In percent; for multi-label data the AUROC stands for it.
  [[nodiscard]] double accuracy() const {
    if (auroc) {
      return *auroc;
    }
    return count == 0 ? 0.0 : 100.0 * static_cast<double>(correct) / static_cast<double>(count);
  }
};

/// Cross-entropy and top-1 hits of `logits` (labels.size() x classes); ties go to the lowest class.
[[nodiscard]] Tally tally_logits(std::span<const float> logits, int classes, std::span<const std::int32_t> labels);
/// The same for probabilities that already sum to 1.
[[nodiscard]] Tally tally_probabilities(std::span<const float> probabilities, int classes,
                                        std::span<const std::int32_t> labels);

/// Multi-label data, probabilities and targets (0 or 1) of samples x classes: binary cross-entropy, and the mean over
/// the classes of the chance that a sample with the label scores above one without. A class that all or none of the
/// samples have says nothing and is left out; where that leaves none, the result is chance, 50.
[[nodiscard]] Tally tally_multi_label(std::span<const float> probabilities, int classes,
                                      std::span<const float> targets);

}  // namespace feroma
