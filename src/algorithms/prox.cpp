#include "algorithms/prox.h"

#include <algorithm>

#include "feroma/core/error.h"

namespace feroma {

void add_prox_gradient(const ParamLayout& layout, std::span<const float> params, std::span<const float> anchor,
                       double weight, std::span<float> gradient) {
  const auto pull = static_cast<float>(weight);
  for_each_trained(layout, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      gradient[i] += pull * (params[i] - anchor[i]);
    }
  });
}

void require_stable_pull(std::string_view key, double weight, const FitOptions& fit) {
  const double most = 2 * (1 + fit.momentum);
  require(fit.learning_rate * weight < most, ErrorCode::invalid_config,
          "{} times training.learning_rate must be < {} or steps to the shared model overshoot, got {}", key, most,
          fit.learning_rate * weight);
}

void copy_buffers_(Parameters& params, const Parameters& source) {
  for (std::size_t s = 0; s < params.layout().segments.size(); ++s) {
    if (params.layout().segments[s].kind == SegmentKind::buffer) {
      const std::span<const float> values = source.segment(s);
      std::copy(values.begin(), values.end(), params.segment(s).begin());
    }
  }
}

}  // namespace feroma
