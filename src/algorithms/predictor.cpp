#include "feroma/algorithms/predictor.h"

namespace feroma {
namespace {

class SingleModelPredictor final : public Predictor {
 public:
  SingleModelPredictor(ParametersPtr model, ModelShares sources)
      : model_(std::move(model)), sources_(std::move(sources)) {}

  std::vector<float> predict(Trainer& trainer, const View& view) override {
    return trainer.probabilities(*model_, view);
  }
  [[nodiscard]] const ModelShares& sources() const override { return sources_; }

 private:
  ParametersPtr model_;
  ModelShares sources_;
};

}  // namespace

std::unique_ptr<Predictor> make_single_model_predictor(ParametersPtr model, ModelShares sources) {
  return std::make_unique<SingleModelPredictor>(std::move(model), std::move(sources));
}

}  // namespace feroma
