#pragma once

#include "algorithms/feroma_plan.h"
#include "algorithms/feroma_state.h"
#include "algorithms/private_profiles.h"

namespace feroma {

// How clients that take no part in training are served, step by step: the server asks, the client describes its data,
// the server makes an offer, the client settles it. `guarded` is null unless profiles leave under a budget.

/// The extractor, and the bounds of sums; empty while there is one model for all.
[[nodiscard]] Message visitor_question(const FeromaState& state, const PrivateProfiles* guarded);
/// The label-free profile of the client's data.
[[nodiscard]] Message visitor_profile(const FeromaPlan& plan, const PrivateProfiles* guarded, const Message& question,
                                      TestContext& context);
/// A mixture by profile, or for a client with few labels candidates to choose from. What a single client learned leaves
/// in no other case: any profile can be claimed, and one that nobody's data explain gets the mixture too.
[[nodiscard]] Offer make_offer(const FeromaPlan& plan, const FeromaState& state, const PrivateProfiles* guarded,
                               const Message& told, const VisitorWish& wish);
/// Candidates become one model, weighted by the client's labels or by how much they tell of its data.
[[nodiscard]] Offer settle_offer(const FeromaPlan& plan, const Offer& offer, TestContext& context);

/// All of it at once, for a test client in this process; or the model of the training client that it is. Null where the
/// policy does not apply.
[[nodiscard]] std::unique_ptr<Predictor> serve_test_client(const FeromaPlan& plan, const FeromaState& state,
                                                           const PrivateProfiles* guarded, TestPolicy policy,
                                                           TestContext& context);

}  // namespace feroma
