#include "feroma/algorithms/on_top.h"

#include <algorithm>

#include "feroma/algorithms/fedavg.h"
#include "feroma/algorithms/feroma.h"

namespace feroma {
namespace {

std::unique_ptr<Algorithm> make_start(StartFrom start, MomentumChoice momentum_reset) {
  if (start == StartFrom::fedavg) {
    return make_fedavg({momentum_reset});
  }
  FeromaOptions options = feroma_preset("auto");
  options.momentum_reset = momentum_reset;
  return make_feroma(options);
}

}  // namespace

OnTop::OnTop(StartFrom start, MomentumChoice momentum_reset) : training_(make_start(start, momentum_reset)) {}

ParametersPtr OnTop::held_by(ClientId client) const {
  const std::vector<ServedModel> models = training_->served();
  // Kept models of earlier rounds come after the last round's.
  const auto own =
      std::find_if(models.begin(), models.end(), [&](const ServedModel& served) { return served.client == client; });
  return (own == models.end() ? models.front() : *own).model;
}

ParametersPtr OnTop::assigned(TestPolicy policy, TestContext& context) const {
  const std::unique_ptr<Predictor> predictor = training_->predictor(policy, context);
  return predictor ? predictor->model() : nullptr;
}

std::optional<Offer> OnTop::offer(const Message& told, const VisitorWish& wish) const {
  if (std::optional<Offer> own = training_->offer(told, wish)) {
    return own;
  }
  return Offer{Choice::as_offered, {training_->served().front().model}, {1.0}};
}

}  // namespace feroma
