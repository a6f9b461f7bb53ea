#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "feroma/core/batch.h"
#include "feroma/engine/objective.h"

namespace feroma {

/// Adds the mean loss of a batch to `loss` and returns its slope in every logit.
template <class T>
std::vector<T> reference_loss_slope(const std::vector<T>& logits, const Batch& batch, Loss kind, T& loss) {
  const auto samples = static_cast<std::size_t>(batch.size);
  const std::size_t classes = logits.size() / samples;
  std::vector<T> g(logits.size());
  for (std::size_t n = 0; n < samples; ++n) {
    const T* z = logits.data() + n * classes;
    const T scale = (batch.weights.empty() ? T(1) : static_cast<T>(batch.weights[n])) / static_cast<T>(samples);
    const T top = *std::max_element(z, z + classes);
    T total = 0;
    for (std::size_t u = 0; u < classes; ++u) {
      total += std::exp(z[u] - top);
    }
    T entropy = 0;
    for (std::size_t u = 0; u < classes; ++u) {
      const T log_p = z[u] - top - std::log(total);
      entropy -= std::exp(log_p) * log_p;
    }
    for (std::size_t u = 0; u < classes; ++u) {
      const T log_p = z[u] - top - std::log(total);
      switch (kind) {
        case Loss::cross_entropy: {
          const bool here = batch.labels[n] == static_cast<std::int32_t>(u);
          loss -= here ? scale * log_p : T(0);
          g[n * classes + u] = scale * (std::exp(log_p) - (here ? T(1) : T(0)));
          break;
        }
        case Loss::binary_cross_entropy: {
          const T t = static_cast<T>(batch.targets[n * classes + u]);
          const T part = scale / static_cast<T>(classes);
          loss += part * (std::max(z[u], T(0)) - z[u] * t + std::log1p(std::exp(-std::abs(z[u]))));
          g[n * classes + u] = part * (T(1) / (T(1) + std::exp(-z[u])) - t);
          break;
        }
        case Loss::entropy: g[n * classes + u] = -scale * std::exp(log_p) * (log_p + entropy); break;
      }
    }
    loss += kind == Loss::entropy ? scale * entropy : T(0);
  }
  return g;
}

}  // namespace feroma
