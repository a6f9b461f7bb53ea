#include "algorithms/drift_scores.h"

#include "feroma/core/error.h"

namespace feroma {

double merit_of(const Tally& tally, FedDriftMeasure measure) {
  switch (measure) {
    case FedDriftMeasure::accuracy:
      return tally.auroc ? *tally.auroc / 100 * static_cast<double>(tally.count) : static_cast<double>(tally.correct);
    case FedDriftMeasure::loss: return -tally.loss_sum;
  }
  unreachable();
}

Tally guess_on(const View& view, int classes) {
  const auto width = static_cast<std::size_t>(classes);
  const bool multi_label = view.samples->multi_label();
  std::vector<float> targets = multi_label ? targets_of(view) : std::vector<float>();
  std::vector<std::int32_t> labels;
  std::vector<float> frequencies(width);
  for (std::size_t i = 0; i < view.size(); ++i) {
    if (!multi_label) {
      labels.push_back(view.label(i));
      frequencies[static_cast<std::size_t>(labels.back())] += 1.0F / static_cast<float>(view.size());
    }
    for (std::size_t c = 0; multi_label && c < width; ++c) {
      frequencies[c] += targets[i * width + c] / static_cast<float>(view.size());
    }
  }
  std::vector<float> rows;
  for (std::size_t i = 0; i < view.size(); ++i) {
    rows.insert(rows.end(), frequencies.begin(), frequencies.end());
  }
  return multi_label ? tally_multi_label(rows, classes, targets) : tally_probabilities(rows, classes, labels);
}

}  // namespace feroma
