#pragma once

#include <span>
#include <vector>

#include "algorithms/parents.h"
#include "feroma/client/trainer.h"

namespace feroma {

/// Whether no parent's data of the last round explain a test client's label-free profile: even the nearest is further
/// away than two samples of one distribution are. Never where the metric knows no noise, and never where clients' class
/// shares differ: then other shares may explain it. Models kept from earlier rounds do not make a client known: they
/// are older, and have to show that they are the better choice.
[[nodiscard]] bool is_stranger(const FeromaOptions& options, const ProfileShape& shape, const BlockScaler& scaler,
                               const Profile& query, std::span<const Parent> parents);

/// Weights over models by how much they tell of the client's unlabelled data: exp(information / 0.02
/// nats), where information is the entropy of the mean prediction less the mean entropy of the predictions. For data
/// with one label per sample: of several labels, most of them absent, every model is sure.
[[nodiscard]] std::vector<double> confidence_weights(Trainer& trainer, const View& data,
                                                     std::span<const ParametersPtr> models);

/// How far each receiver's data are from those of the parent that leads it, without labels and in units of sampling
/// noise; 0 where the metric knows no noise.
[[nodiscard]] std::vector<double> strangeness(const FeromaOptions& options, const ProfileShape& shape,
                                              const BlockScaler& scaler, std::span<const Receiver> receivers,
                                              std::span<const Parent> parents, std::span<const std::size_t> leaders);

}  // namespace feroma
