#pragma once

#include "algorithms/answers.h"
#include "feroma/profile/profile.h"

namespace feroma {

/// What a client of Feroma's sends besides its model.
struct FeromaExtras {
  bool latent_max = false;  ///< the largest latent of its held-out samples
  bool held_out = false;    ///< hits among them, and how many they are
  bool gain = false;        ///< the hits that training added
  bool count = true;        ///< how many examples it has
};

void check_bounds_answer(const Answer& answer, int width);
void check_profile_answer(const Answer& answer, const ProfileShape& shape);
void check_training_answer(const Answer& answer, const Parameters& like, const FeromaExtras& extras);

}  // namespace feroma
