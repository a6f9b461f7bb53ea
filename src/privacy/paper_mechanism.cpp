#include "feroma/privacy/paper_mechanism.h"

#include <cmath>

#include "feroma/core/error.h"

namespace feroma {

ComposedEpsilon composed_epsilon(double epsilon, const MomentCounts& moments, std::int64_t samples) {
  require(
      epsilon > 0 && moments.marginal >= 1 && moments.per_class >= 1 && moments.classes >= 1 &&
          samples >= moments.classes,
      ErrorCode::invalid_config,
      "[privacy] composing needs epsilon > 0, coordinates, classes and at least one sample per class, got {}, {} and"
      " {}, {} and {}",
      epsilon, moments.marginal, moments.per_class, moments.classes, samples);
  const double l = moments.per_class;
  const auto v = static_cast<double>(samples);
  const double n = v / moments.classes;
  const double marginal = moments.marginal * (1 + std::sqrt(v - 1));
  return {epsilon * (2 * l * v + marginal), epsilon * (marginal + 2 * l * (v / n) * (1 + std::sqrt(n - 1))),
          epsilon * marginal};
}

}  // namespace feroma
