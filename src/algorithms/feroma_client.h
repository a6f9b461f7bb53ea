#pragma once

#include "algorithms/feroma_answers.h"
#include "algorithms/feroma_plan.h"
#include "algorithms/private_profiles.h"
#include "feroma/client/context.h"

namespace feroma {

// The steps of a client in a round. `guarded` is null unless profiles leave under a budget.

/// The range of the client's latents, or the noisy histogram of their norms.
[[nodiscard]] Message send_bounds(const FeromaPlan& plan, const PrivateProfiles* guarded, ClientContext& context,
                                  const Message& received);
/// The profile of the client's data: a new one for a new data version, else the one it has.
[[nodiscard]] Message send_profile(const FeromaPlan& plan, const PrivateProfiles* guarded, ClientContext& context,
                                   const Message& received);
/// The model after local training, and what else the server wants to know.
[[nodiscard]] Message train_model(const FeromaPlan& plan, const FeromaExtras& wanted, ClientContext& context,
                                  const Message& received);

}  // namespace feroma
