#pragma once

#include <memory>

#include "feroma/algorithms/algorithm.h"

namespace feroma {

/// How sharply few labels choose between models: a loss so much above the best one divides the weight by e.
inline constexpr double kLossTemperature = 0.05;

/// The share of the last round's clients that is in each cluster; empty where nobody is.
[[nodiscard]] std::vector<double> expected_shares(const ClusterView& view);

/**
 * How a test client is served under a policy: by the method's own rule, or by one that follows from the clusters or
 * the personal models it holds. A method without a rule for strangers shows them the expectation over its clusters, or
 * the mean of its clients' personal models. Null where the policy does not apply.
 */
[[nodiscard]] std::unique_ptr<Predictor> serve(const Algorithm& algorithm, TestPolicy policy, TestContext& context);

}  // namespace feroma
