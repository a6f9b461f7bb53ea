#pragma once

#include "feroma/core/rng.h"
#include "feroma/profile/profile.h"

namespace feroma {

/**
 * The profile as another sample of the same distribution might have given it: every coordinate moves by its own
 * sampling noise, as signature_of states it. For a profile that is sent again and again for the same data.
 *
 * Classes stay present or absent, spreads stay at least 0. Shares of one label per sample still sum to 1. The noise is
 * independent between coordinates, which real sampling noise is not; and it protects nobody: it is no differential
 * privacy.
 */
[[nodiscard]] Profile jittered(const Profile& profile, const ProfileShape& shape, Rng rng);

}  // namespace feroma
