#pragma once

#include <span>
#include <vector>

#include "algorithms/parents.h"
#include "feroma/client/trainer.h"

namespace feroma {

/// Whether no parent's data explain a test client's label-free profile: even the nearest is further away than two
/// samples of one distribution are. Never where the metric knows no noise.
[[nodiscard]] bool is_stranger(const FeromaOptions& options, const ProfileShape& shape, const BlockScaler& scaler,
                               const Profile& query, std::span<const Parent> parents);

/// Weights over the parents by how sure their models are of the client's unlabelled data: exp(-entropy / 0.02 nats).
[[nodiscard]] std::vector<double> confidence_weights(Trainer& trainer, const View& data,
                                                     std::span<const Parent> parents);

}  // namespace feroma
