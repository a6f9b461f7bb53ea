#pragma once

#include <compare>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "feroma/client/trainer.h"
#include "feroma/core/ids.h"
#include "feroma/data/view.h"
#include "feroma/models/parameters.h"

namespace feroma {

/// Where a model comes from: whose data it was trained on, and in which round.
struct ModelSource {
  ClientId client{};
  Round round = 0;  ///< 0: the last one
  friend auto operator<=>(const ModelSource&, const ModelSource&) = default;
};
/// How much of a served model comes from where.
using ModelShares = std::map<ModelSource, double>;

/// Serves one test client; may adapt to the unlabelled data it predicts.
class Predictor {
 public:
  virtual ~Predictor() = default;

  /// Class probabilities for every sample of `view` (size x classes).
  [[nodiscard]] virtual std::vector<float> predict(Trainer& trainer, const View& view) = 0;
  /// Empty where it has no meaning.
  [[nodiscard]] virtual const ModelShares& sources() const = 0;
  /// The one model behind the predictions, for those who want to go on from it; null where there are several.
  [[nodiscard]] virtual ParametersPtr model() const { return nullptr; }
};

/// How good the predictions for labelled data are.
[[nodiscard]] Tally score(Predictor& predictor, Trainer& trainer, const View& view);

/// How good probabilities (size x classes) for the samples of labelled data are.
[[nodiscard]] Tally score(std::span<const float> probabilities, const View& view);

/// Predicts with one model.
[[nodiscard]] std::unique_ptr<Predictor> make_single_model_predictor(ParametersPtr model, ModelShares sources = {});

/// A predictor and its weight in an ensemble.
struct WeightedPredictor {
  double weight = 0;
  std::unique_ptr<Predictor> predictor;
};
/// Predicts with the weighted mean of its members' probabilities; weights sum to 1 and those of 0 are not asked.
[[nodiscard]] std::unique_ptr<Predictor> make_ensemble_predictor(std::vector<WeightedPredictor> members);

}  // namespace feroma
