#pragma once

#include "feroma/algorithms/answers.h"
#include "feroma/algorithms/feroma_options.h"
#include "feroma/profile/profile.h"

namespace feroma {

/// What a client of Feroma's sends besides its model.
struct FeromaExtras {
  bool latent_max = false;  ///< the largest latent of its held-out samples
  bool held_out = false;    ///< hits among them, and how many they are
  bool gain = false;        ///< the hits that training added
  bool count = true;        ///< how many examples it has
};
/// What clients are asked for, without a budget.
[[nodiscard]] FeromaExtras wanted_extras(const FeromaOptions& options, bool warming);
/// Added to a task's number in the warm-up, so that clients know what they are asked for.
inline constexpr int kWarmingTask = 4;

void check_bounds_answer(const Answer& answer, int width);
/// `both`: also by the next encoder.
void check_profile_answer(const Answer& answer, const ProfileShape& shape, bool both);
void check_training_answer(const Answer& answer, const Parameters& like, const FeromaExtras& extras);

}  // namespace feroma
