#include "algorithms/wide_head.h"

#include <algorithm>

#include "algorithms/dense.h"
#include "feroma/core/portable_math.h"

namespace feroma {

WideLoss wide_cross_entropy(const WideHead& head, std::span<const float> latents, std::span<const std::int32_t> labels,
                            std::span<const double> scales) {
  const std::size_t classes = head.biases.size();
  const std::size_t width = head.weights.size() / classes;
  std::vector<float> slopes = multiply(latents, transpose(head.weights, width), width);  // logits at first
  WideLoss loss;
  loss.biases.resize(classes);
  std::vector<double> weights(classes);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::span<float> row = std::span(slopes).subspan(i * classes, classes);
    for (std::size_t u = 0; u < classes; ++u) {
      row[u] += head.biases[u];
    }
    const auto largest = static_cast<double>(*std::max_element(row.begin(), row.end()));
    double sum = 0;
    for (std::size_t u = 0; u < classes; ++u) {
      weights[u] = portable_exp(static_cast<double>(row[u]) - largest);
      sum += weights[u];
    }
    const auto label = static_cast<std::size_t>(labels[i]);
    loss.value += scales[i] * (portable_log(sum) + largest - static_cast<double>(row[label]));
    for (std::size_t u = 0; u < classes; ++u) {
      row[u] = static_cast<float>(scales[i] * (weights[u] / sum - (u == label ? 1.0 : 0.0)));
      loss.biases[u] += row[u];
    }
  }
  loss.latents = multiply(slopes, head.weights, classes);
  loss.weights = multiply(transpose(slopes, classes), latents, labels.size());
  return loss;
}

}  // namespace feroma
