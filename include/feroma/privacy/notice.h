#pragma once

#include <cstdint>
#include <string>

#include "feroma/privacy/options.h"
#include "feroma/privacy/paper_mechanism.h"

namespace feroma {

/// What a run promises of profiles, in one sentence; begins with "none" where that is nothing.
[[nodiscard]] std::string guarantee_of(const PrivacyOptions& options);

/// What mode paper really gives for profiles of so many moments and samples: that it is no guarantee, and the composed
/// value.
[[nodiscard]] std::string published_notice(double epsilon, const MomentCounts& moments, std::int64_t samples);

}  // namespace feroma
