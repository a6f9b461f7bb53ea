#pragma once

#include "algorithms/feroma_plan.h"
#include "feroma/algorithms/extractor.h"
#include "feroma/profile/profile.h"

namespace feroma {

/**
 * The paper's mechanism: Laplace noise of scale range / (samples * epsilon) on every moment, where a coordinate's range
 * is that of the client's own rows, and of scale 1 / (samples * epsilon) on class shares. It carries no guarantee, see
 * `privacy/paper_mechanism.h`, so it draws from an ordinary stream.
 */
[[nodiscard]] Profile with_published_noise(Profile profile, const Rows& marginal, const Rows& conditional,
                                           double epsilon, Rng rng);

/// The profile of encoded samples as privacy.mode paper sends it; as it is under any other mode.
[[nodiscard]] Profile published_form(const FeromaPlan& plan, const Extractor& extractor, const EncodedSamples& samples,
                                     Profile profile, const Rng& rng);

}  // namespace feroma
