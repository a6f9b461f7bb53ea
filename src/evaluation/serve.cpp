#include "feroma/evaluation/serve.h"

#include "feroma/core/error.h"
#include "feroma/mapping/kernel.h"

namespace feroma {
namespace {

using Candidates = std::vector<std::unique_ptr<Predictor>>;

std::unique_ptr<Predictor> ensemble(Candidates candidates, std::span<const double> weights) {
  std::vector<WeightedPredictor> members;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    members.push_back({weights[i], std::move(candidates[i])});
  }
  return make_ensemble_predictor(std::move(members));
}

Candidates predictors_of(const ClusterView& view) {
  Candidates candidates;
  for (const ParametersPtr& model : view.models) {
    candidates.push_back(make_single_model_predictor(model));
  }
  return candidates;
}

Candidates personal_predictors(const Algorithm& algorithm, const TestContext& context) {
  Candidates candidates;
  if (context.memories != nullptr) {
    for (const auto& [client, memory] : *context.memories) {
      if (auto predictor = algorithm.personal(*memory)) {
        candidates.push_back(std::move(predictor));
      }
    }
  }
  return candidates;
}

}  // namespace

std::vector<double> expected_shares(const ClusterView& view) {
  std::vector<double> expected(view.present.empty() ? 0 : view.models.size());
  for (const ClientId client : view.present) {
    const std::vector<double>& shares = view.shares.at(client);
    require(shares.size() == view.models.size(), ErrorCode::internal,
            "[serve] client {} must have a share of each of {} models, got {}", to_index(client), view.models.size(),
            shares.size());
    for (std::size_t m = 0; m < shares.size(); ++m) {
      expected[m] += shares[m] / static_cast<double>(view.present.size());
    }
  }
  return expected;
}

namespace {

std::unique_ptr<Predictor> expectation(const std::optional<ClusterView>& view) {
  const std::vector<double> expected = view ? expected_shares(*view) : std::vector<double>();
  return expected.empty() ? nullptr : ensemble(predictors_of(*view), expected);
}

std::unique_ptr<Predictor> uniform(Candidates candidates) {
  const std::vector<double> weights(candidates.size(), 1.0 / static_cast<double>(candidates.size()));
  return candidates.empty() ? nullptr : ensemble(std::move(candidates), weights);
}

std::unique_ptr<Predictor> own(const Algorithm& algorithm, const std::optional<ClusterView>& view,
                               const TestContext& context) {
  if (view && view->shares.contains(context.id)) {
    return ensemble(predictors_of(*view), view->shares.at(context.id));
  }
  if (context.memories != nullptr && context.memories->contains(context.id)) {
    return algorithm.personal(*context.memories->at(context.id));
  }
  return nullptr;
}

std::unique_ptr<Predictor> chosen_by_labels(Candidates candidates, TestContext& context) {
  if (context.few_labels == nullptr || candidates.empty()) {
    return nullptr;
  }
  std::vector<double> losses;
  for (const auto& candidate : candidates) {
    losses.push_back(score(*candidate, context.trainer, *context.few_labels).loss());
  }
  return ensemble(std::move(candidates), softmax_weights(losses, kLossTemperature));
}

}  // namespace

std::unique_ptr<Predictor> serve(const Algorithm& algorithm, TestPolicy policy, TestContext& context) {
  if (auto predictor = algorithm.predictor(policy, context)) {
    return predictor;
  }
  const std::optional<ClusterView> view = algorithm.clusters();
  switch (policy) {
    case TestPolicy::native: {
      auto predictor = expectation(view);
      return predictor ? std::move(predictor) : uniform(personal_predictors(algorithm, context));
    }
    case TestPolicy::cluster_expectation: return expectation(view);
    case TestPolicy::known_association: return own(algorithm, view, context);
    case TestPolicy::personal_uniform: return uniform(personal_predictors(algorithm, context));
    case TestPolicy::few_label:
      return chosen_by_labels(view ? predictors_of(*view) : personal_predictors(algorithm, context), context);
    case TestPolicy::nearest_signature: return nullptr;
  }
  unreachable();
}

}  // namespace feroma
