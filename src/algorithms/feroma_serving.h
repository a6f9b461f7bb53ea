#pragma once

#include "algorithms/feroma_plan.h"
#include "algorithms/feroma_state.h"
#include "algorithms/private_profiles.h"

namespace feroma {

/// Serves a test client by its profile, by a few labels, or as the training client it is; null where the policy does
/// not apply. `guarded` is null unless profiles leave under a budget.
[[nodiscard]] std::unique_ptr<Predictor> serve_test_client(const FeromaPlan& plan, const FeromaState& state,
                                                           const PrivateProfiles* guarded, TestPolicy policy,
                                                           TestContext& context);

}  // namespace feroma
