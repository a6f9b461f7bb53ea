#include "feroma/privacy/paper_mechanism.h"

#include <cmath>

#include "feroma/core/error.h"

namespace feroma {

ComposedEpsilon composed_epsilon(double epsilon, int coordinates, int classes, std::int64_t samples) {
  require(
      epsilon > 0 && coordinates >= 1 && classes >= 1 && samples >= classes, ErrorCode::invalid_config,
      "[privacy] composing needs epsilon > 0, coordinates, classes and at least one sample per class, got {}, {}, {}"
      " and {}",
      epsilon, coordinates, classes, samples);
  const double l = coordinates;
  const auto v = static_cast<double>(samples);
  const double n = v / classes;
  const double marginal = l * (1 + std::sqrt(v - 1));
  return {epsilon * (2 * l * v + marginal), epsilon * (marginal + 2 * l * (v / n) * (1 + std::sqrt(n - 1))),
          epsilon * marginal};
}

}  // namespace feroma
