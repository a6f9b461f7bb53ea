#pragma once

#include <memory>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/feroma_options.h"

namespace feroma {

/// Feroma: every client gets its own mixture of last round's models, weighted by how alike the data profiles are.
[[nodiscard]] std::unique_ptr<Algorithm> make_feroma(const FeromaOptions& options);

/// FedAvg's plain mixing with everything else as in `auto`: local training, profiles, matching at test time. It shows
/// how much of Feroma's gain comes from profile-guided mixing, and how much from training and matching alone.
[[nodiscard]] FeromaOptions fedavg_ft_options();

}  // namespace feroma
