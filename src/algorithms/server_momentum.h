#pragma once

#include <map>
#include <span>
#include <vector>

#include "algorithms/parents.h"

namespace feroma {

/// What a client is to train from: a mixture, moved on by `momentum` times the way it came from `before` (null: none).
struct Start {
  ParametersPtr mixture;
  ParametersPtr before;
  double momentum = 0;
  bool among_its_like = true;  ///< the mixture is of models for data like the client's: the way from it has a direction

  [[nodiscard]] ParametersPtr model() const;
};

/**
 * The starts of the receivers, whose mixtures and weights over the parents are given in their order. The nearest parent
 * stands for all that are alike: their mixtures of the round before were nearly the same, so one difference of models
 * does for a second sum over all of them. A receiver whose data are unlike those of its nearest parent goes its own
 * way. Under a fold that is to bear liars the nearest may be one, so everybody follows but itself.
 */
[[nodiscard]] std::vector<Start> starts_of(const FeromaOptions& options, const ProfileShape& shape,
                                           const BlockScaler& scaler, std::span<const Receiver> receivers,
                                           std::span<const Parent> parents, const Matrix& mixing,
                                           std::vector<Parameters> mixed);

/// Whether training made the clients' models better on held-out data, all in all. Where it did not, clients are
/// memorising what they have, and more of the same would be worse.
[[nodiscard]] bool training_pays(const std::map<ClientId, Message>& answers);

}  // namespace feroma
