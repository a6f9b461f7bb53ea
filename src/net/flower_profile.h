#pragma once

#include "algorithms/feroma_answers.h"
#include "feroma/algorithms/extractor.h"
#include "net/flower_scalars.h"

namespace feroma::net {

/// What a federation's profiles are like, for clients that make them in another language.
struct FlowerProfiles {
  ProfileShape shape;
  int width = 0;  ///< of the encoder's output
  Latent latent = Latent::flatten;
  bool unit_norm = false;
  FeromaExtras warming_extras = {};  ///< what clients send besides their models in the warm-up
  FeromaExtras extras = {};          ///< and after it
};

/// Adds to a fit's config that a profile is wanted, and how it is made.
void ask_for_profile(Scalars& config, const FlowerProfiles& profiles, const Projector& projector);

/**
 * The profile in what a client measured: under `profile` the whole vector, as a JSON list or a .npy file; or moments as
 * the reference implementation names them, of projected or of raw latents. Absent where there is neither; what is there
 * but cannot be read is an invalid_data error.
 */
[[nodiscard]] std::optional<Floats> profile_in(const Scalars& metrics, const FlowerProfiles& profiles,
                                               const Projector& projector);

}  // namespace feroma::net
