#pragma once

#include <memory>

#include "feroma/algorithms/algorithm.h"

namespace feroma {

/**
 * How a test client is served under a policy: by the method's own rule, or by one that follows from the clusters or
 * the personal models it holds. A method without a rule for strangers shows them the expectation over its clusters, or
 * the mean of its clients' personal models. Null where the policy does not apply.
 */
[[nodiscard]] std::unique_ptr<Predictor> serve(const Algorithm& algorithm, TestPolicy policy, TestContext& context);

}  // namespace feroma
