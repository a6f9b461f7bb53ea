#pragma once

#include <map>
#include <memory>
#include <vector>

#include "feroma/client/trainer.h"
#include "feroma/core/ids.h"
#include "feroma/data/view.h"
#include "feroma/models/parameters.h"

namespace feroma {

/// Serves one test client; may adapt to the unlabelled data it predicts.
class Predictor {
 public:
  virtual ~Predictor() = default;

  /// Class probabilities for every sample of `view` (size x classes).
  [[nodiscard]] virtual std::vector<float> predict(Trainer& trainer, const View& view) = 0;
  /// How much of the served model comes from which training client; empty where that has no meaning.
  [[nodiscard]] virtual const std::map<ClientId, double>& sources() const = 0;
};

/// Predicts with one model.
[[nodiscard]] std::unique_ptr<Predictor> make_single_model_predictor(ParametersPtr model,
                                                                     std::map<ClientId, double> sources = {});

}  // namespace feroma
