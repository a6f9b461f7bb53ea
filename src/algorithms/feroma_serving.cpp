#include "algorithms/feroma_serving.h"

#include <algorithm>

#include "algorithms/published_noise.h"
#include "algorithms/strangers.h"
#include "feroma/aggregation/fold.h"

namespace feroma {
namespace {

/// Answers one test client's question under one policy. Where models are chosen by confidence or by few labels, that is
/// done on the client, which is given every model and folds them itself: of these nothing is told.
class Server {
 public:
  Server(const FeromaPlan& plan, const FeromaState& state, const PrivateProfiles* guarded, TestContext& context)
      : plan_(plan), options_(plan.options), state_(state), guarded_(guarded), context_(context) {}

  /// By the rule for strangers where nobody's data explain the client's, else by profile.
  [[nodiscard]] std::unique_ptr<Predictor> native() const {
    const std::optional<Profile> query = told_profile();
    const bool tells = context_.data.size() > 0 && !context_.data.samples->multi_label();
    if (query && options_.strangers == Strangers::confidence && tells &&
        is_stranger(options_, plan_.shape, state_.scaler, *query, state_.parents)) {
      return mixture(confidence_weights(context_.trainer, context_.data, state_.parents));
    }
    return mixture(weights(query, options_.assign_rule));
  }

  [[nodiscard]] std::unique_ptr<Predictor> nearest() const {
    return mixture(weights(told_profile(), AssignRule::nearest));
  }

  [[nodiscard]] std::unique_ptr<Predictor> by_few_labels() const {
    return context_.few_labels == nullptr ? nullptr : mixture(few_label_weights());
  }

  [[nodiscard]] std::unique_ptr<Predictor> known() const {
    const auto own = std::find_if(state_.parents.begin(), state_.parents.end(),
                                  [&](const Parent& parent) { return parent.client == context_.id; });
    return own == state_.parents.end() ? nullptr
                                       : make_single_model_predictor(own->model, {{{own->client, own->round}, 1.0}});
  }

 private:
  [[nodiscard]] EncodedSamples encoded(const View& view, bool labelled) const {
    return encode_samples(options_, state_.extractor.encoder, context_.trainer, view, labelled);
  }

  [[nodiscard]] Profile exact_profile(const EncodedSamples& samples) const {
    return extract_profile(options_, state_.extractor, samples, plan_.model.classes, Subsampling::off, context_.rng);
  }

  /// What the server is told of the client; nothing where its budget is spent.
  [[nodiscard]] std::optional<Profile> told_profile() const {
    const StageTimer timer(context_.seconds, Stage::profile);
    const EncodedSamples samples = encoded(context_.data, /*labelled=*/false);
    if (guarded_ != nullptr) {
      return guarded_->test_profile(context_.disclosure, project(state_.extractor.projector, samples.rows));
    }
    Profile profile = exact_profile(samples);
    // The reference implementation leaves test profiles alone.
    return options_.noise_stream == NoiseStream::constant
               ? profile
               : published_form(plan_, state_.extractor, samples, std::move(profile), context_.rng);
  }

  [[nodiscard]] std::vector<double> weights(const std::optional<Profile>& query, AssignRule rule) const {
    if (!query) {
      return uniform_weights(state_.parents.size());
    }
    return assignment_weights(options_, rule, plan_.shape, state_.scaler, *query, state_.parents, /*label_free=*/true);
  }

  [[nodiscard]] std::vector<double> few_label_weights() const {
    const View& labelled = *context_.few_labels;
    if (options_.few_label == FewLabelRule::loss) {
      std::vector<double> losses;
      for (const Parent& parent : state_.parents) {
        losses.push_back(context_.trainer.evaluate(*parent.model, labelled).loss());
      }
      return softmax_weights(losses, options_.loss_temperature);
    }
    // The label-free part comes from all data, the class part from the few labelled samples.
    Profile query = exact_profile(encoded(context_.data, /*labelled=*/false));
    Profile classes = exact_profile(encoded(labelled, /*labelled=*/true));
    query.per_class = std::move(classes.per_class);
    query.prior = std::move(classes.prior);
    return assignment_weights(options_, AssignRule::nearest, plan_.shape, state_.scaler, query, state_.parents,
                              /*label_free=*/false);
  }

  [[nodiscard]] std::unique_ptr<Predictor> mixture(std::span<const double> weights) const {
    std::vector<ParametersPtr> models;
    ModelShares sources;
    for (std::size_t i = 0; i < state_.parents.size(); ++i) {
      models.push_back(state_.parents[i].model);
      if (weights[i] > 0) {
        sources[{state_.parents[i].client, state_.parents[i].round}] = weights[i];
      }
    }
    const std::vector<float> row(weights.begin(), weights.end());
    return make_single_model_predictor(share(std::move(fold_models(options_.fold_rule(), models, row).front())),
                                       std::move(sources));
  }

  const FeromaPlan& plan_;
  const FeromaOptions& options_;
  const FeromaState& state_;
  const PrivateProfiles* guarded_;
  TestContext& context_;
};

}  // namespace

std::unique_ptr<Predictor> serve_test_client(const FeromaPlan& plan, const FeromaState& state,
                                             const PrivateProfiles* guarded, TestPolicy policy, TestContext& context) {
  if (state.parents.empty()) {  // still warming up: there is only the global model
    const bool serves = policy == TestPolicy::native || policy == TestPolicy::known_association;
    return serves ? make_single_model_predictor(state.global) : nullptr;
  }
  const Server server(plan, state, guarded, context);
  switch (policy) {
    case TestPolicy::native: return server.native();
    case TestPolicy::nearest_signature: return server.nearest();
    case TestPolicy::few_label: return server.by_few_labels();
    case TestPolicy::known_association: return server.known();
    case TestPolicy::cluster_expectation:
    case TestPolicy::personal_uniform: return nullptr;
  }
  unreachable();
}

}  // namespace feroma
