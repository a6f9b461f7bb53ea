#include "feroma/algorithms/predictor.h"

#include <algorithm>

namespace feroma {
namespace {

std::vector<std::int32_t> labels_of(const View& view) {
  std::vector<std::int32_t> labels(view.size());
  for (std::size_t i = 0; i < view.size(); ++i) {
    labels[i] = view.label(i);
  }
  return labels;
}

class SingleModelPredictor final : public Predictor {
 public:
  SingleModelPredictor(ParametersPtr model, ModelShares sources)
      : model_(std::move(model)), sources_(std::move(sources)) {}

  std::vector<float> predict(Trainer& trainer, const View& view) override {
    return trainer.probabilities(*model_, view);
  }
  [[nodiscard]] const ModelShares& sources() const override { return sources_; }
  [[nodiscard]] ParametersPtr model() const override { return model_; }

 private:
  ParametersPtr model_;
  ModelShares sources_;
};

class EnsemblePredictor final : public Predictor {
 public:
  explicit EnsemblePredictor(std::vector<WeightedPredictor> members) : members_(std::move(members)) {}

  std::vector<float> predict(Trainer& trainer, const View& view) override {
    std::vector<double> sum;
    for (const WeightedPredictor& member : members_) {
      if (member.weight == 0) {
        continue;
      }
      const std::vector<float> probabilities = member.predictor->predict(trainer, view);
      sum.resize(probabilities.size());
      for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] += member.weight * static_cast<double>(probabilities[i]);
      }
    }
    return {sum.begin(), sum.end()};
  }
  [[nodiscard]] const ModelShares& sources() const override { return none_; }

 private:
  std::vector<WeightedPredictor> members_;
  ModelShares none_;
};

}  // namespace

Tally score(Predictor& predictor, Trainer& trainer, const View& view) {
  return score(predictor.predict(trainer, view), view);
}

Tally score(std::span<const float> probabilities, const View& view) {
  const auto classes = std::max(1, static_cast<int>(probabilities.size() / std::max<std::size_t>(view.size(), 1)));
  if (view.samples->multi_label()) {
    return tally_multi_label(probabilities, classes, targets_of(view));
  }
  return tally_probabilities(probabilities, classes, labels_of(view));
}

std::unique_ptr<Predictor> make_ensemble_predictor(std::vector<WeightedPredictor> members) {
  return std::make_unique<EnsemblePredictor>(std::move(members));
}

std::unique_ptr<Predictor> make_single_model_predictor(ParametersPtr model, ModelShares sources) {
  return std::make_unique<SingleModelPredictor>(std::move(model), std::move(sources));
}

}  // namespace feroma
