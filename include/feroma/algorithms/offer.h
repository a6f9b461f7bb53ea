#pragma once

#include <optional>
#include <vector>

#include "feroma/algorithms/predictor.h"
#include "feroma/algorithms/test_time.h"
#include "feroma/models/message.h"

namespace feroma {

/// How a client that takes no part in training wants to be served.
struct VisitorWish {
  bool few_labels = false;  ///< it has labels of some samples, and chooses by them
  int candidates = 3;       ///< where it is to choose: among so many models at most; 0: it gets mixtures alone
};

/// Who chooses among offered models, and how.
enum class Choice {
  as_offered,     ///< nobody: predictions are the weighted mean of what the models predict
  by_labels,      ///< the client, by its few labelled samples
  by_confidence,  ///< the client, by how much each model tells of its unlabelled samples
};

/// Models for a client that takes no part in training.
struct Offer {
  Choice choice = Choice::as_offered;
  std::vector<ParametersPtr> models;
  std::vector<double> weights;         ///< one per model, sum 1; empty where the client is to choose
  std::vector<ModelShares> sources{};  ///< where each model comes from; stays on the server
  /// How the client adapts what it settled on to the samples that it predicts; absent: not at all.
  std::optional<EntropyAdaptation> adaptation{};
};

/// What travels: models, weights and how to adapt them, nothing of whose they are.
[[nodiscard]] Message to_message(const Offer& offer);
/// Reads it back; anything else is an invalid_data error.
[[nodiscard]] Offer offer_from(const Message& message);

/// Predicts with what was offered; there is nothing left to choose. Only a single model adapts.
[[nodiscard]] std::unique_ptr<Predictor> make_predictor(const Offer& offer);

}  // namespace feroma
