#include "algorithms/feroma_serving.h"

#include <algorithm>
#include <climits>
#include <numeric>

#include "algorithms/published_noise.h"
#include "algorithms/strangers.h"
#include "feroma/aggregation/fold.h"

namespace feroma {
namespace {

/// What a client without labels tells: the label-free part of a profile.
ProfileShape label_free(const ProfileShape& shape) {
  return {shape.marginal, 0, 0, false, shape.activations, shape.variances};
}

Extractor extractor_in(const FeromaPlan& plan, const Message& question) {
  return extractor_from(question, encoder_width(plan.options, plan.model));
}

/// What a test client's samples are summed up as; with what the paper takes for privacy where that is asked for.
Profile test_profile(const FeromaPlan& plan, const Extractor& extractor, const EncodedSamples& samples,
                     Subsampling subsampling, const Rng& rng) {
  Profile profile = extract_profile(plan.options, extractor, samples, plan.model.classes, subsampling, rng);
  // The reference implementation leaves test profiles alone.
  return plan.options.noise_stream == NoiseStream::constant
             ? profile
             : published_form(plan, extractor, samples, std::move(profile), rng);
}

/// How a test client's unlabelled samples are drawn.
Subsampling test_subsampling(const FeromaPlan& plan) {
  return plan.options.subsample_test ? plan.options.subsampling : Subsampling::off;
}

/// The profile that was told; nothing where the client's budget is spent.
std::optional<Profile> read_profile(const FeromaPlan& plan, const PrivateProfiles* guarded, const Message& told) {
  if (guarded != nullptr) {
    return guarded->read_unlabelled(told);
  }
  const Answer answer("feroma", ClientId{0}, told);
  // Nothing is known of the classes; what stands in their place is not compared.
  Floats values = answer.floats("profile", label_free(plan.shape).size());
  values.resize(plan.shape.size());
  const std::int64_t samples = answer.integer("num_samples", 0, kMostExamples);
  answer.expect_nothing_else();
  return decode(values, plan.shape, samples);
}

/// How far each parent is by what needs no labels; alike where nothing is known of the client.
std::vector<double> distances_to(const FeromaPlan& plan, const FeromaState& state,
                                 const std::optional<Profile>& query) {
  if (!query) {
    return std::vector<double>(state.parents.size());
  }
  const std::vector<Profile> profiles = profiles_of(state.parents);
  const Gauge gauge = fit_gauge(plan.options.assign_metric, plan.shape, /*label_free=*/true, state.scaler, profiles);
  const Matrix squared = compare(gauge, std::span(&*query, 1), profiles).squared;
  return {squared.values.begin(), squared.values.end()};
}

/// The nearest parents, in the order of all of them.
Offer candidates(const FeromaPlan& plan, const FeromaState& state, const std::optional<Profile>& query, Choice choice,
                 int most) {
  const std::vector<double> distances = distances_to(plan, state, query);
  std::vector<std::size_t> order(state.parents.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return distances[a] < distances[b]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(std::max(most, 1))));
  std::sort(order.begin(), order.end());
  Offer offer{choice, {}, {}};
  for (const std::size_t i : order) {
    offer.models.push_back(state.parents[i].model);
    offer.sources.push_back({{{state.parents[i].client, state.parents[i].round}, 1.0}});
  }
  return offer;
}

/// One model folded from several.
Offer mixture(const FeromaPlan& plan, const std::vector<ParametersPtr>& models, std::span<const ModelShares> sources,
              std::span<const double> weights) {
  ModelShares shares;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (const auto& [source, share] : sources[i]) {
      if (weights[i] > 0) {
        shares[source] = weights[i] * share;
      }
    }
  }
  const std::vector<float> row(weights.begin(), weights.end());
  return {Choice::as_offered,
          {share(std::move(fold_models(plan.options.fold_rule(), models, row).front()))},
          {1.0},
          {std::move(shares)}};
}

Offer mixture_by_profile(const FeromaPlan& plan, const FeromaState& state, const std::optional<Profile>& query,
                         AssignRule rule) {
  const Offer all = candidates(plan, state, std::nullopt, Choice::as_offered, INT_MAX);
  return mixture(plan, all.models, all.sources,
                 query ? assignment_weights(plan.options, rule, plan.shape, state.scaler, *query, state.parents,
                                            /*label_free=*/true)
                       : uniform_weights(state.parents.size()));
}

Offer one_for_all(const FeromaState& state) { return {Choice::as_offered, {state.global}, {1.0}, {{}}}; }

/// Whether nobody's data explain the client's, so that the models' confidence is to choose.
bool chooses_by_confidence(const FeromaPlan& plan, const FeromaState& state, const std::optional<Profile>& query) {
  const bool tells = query && query->num_samples > 0 && !plan.multi_label;
  return tells && plan.options.strangers == Strangers::confidence &&
         is_stranger(plan.options, plan.shape, state.scaler, *query, state.parents);
}

/// What a test client in this process tells.
std::optional<Profile> told_profile(const FeromaPlan& plan, const FeromaState& state, const PrivateProfiles* guarded,
                                    TestContext& context) {
  const Message question = visitor_question(state, guarded);
  const Message told = visitor_profile(plan, guarded, question, context);
  context.traffic.bytes_down += question.bytes();
  context.traffic.bytes_up += told.bytes();
  return read_profile(plan, guarded, told);
}

/// The label-free part comes from all data, the class part from the few labelled samples; not over a network, where
/// what labels say of records would leave the client.
Offer by_few_moments(const FeromaPlan& plan, const FeromaState& state, TestContext& context) {
  const auto profile = [&](const View& view, bool labelled, Subsampling subsampling, const Rng& rng) {
    const EncodedSamples samples =
        encode_samples(plan.options, state.equipment.extractor.encoder, context.trainer, view, labelled);
    return test_profile(plan, state.equipment.extractor, samples, subsampling, rng);
  };
  Profile query = profile(context.data, false, test_subsampling(plan), context.rng);
  Profile classes = profile(*context.few_labels, true, Subsampling::off, context.rng.derive("few labels"));
  query.per_class = std::move(classes.per_class);
  query.prior = std::move(classes.prior);
  const Offer all = candidates(plan, state, std::nullopt, Choice::as_offered, INT_MAX);
  return mixture(plan, all.models, all.sources,
                 assignment_weights(plan.options, AssignRule::nearest, plan.shape, state.scaler, query, state.parents,
                                    /*label_free=*/false));
}

/// A test client in this process may choose among all models: they stay where they are.
std::unique_ptr<Predictor> by_profile(const FeromaPlan& plan, const FeromaState& state, const PrivateProfiles* guarded,
                                      TestContext& context) {
  const std::optional<Profile> query = told_profile(plan, state, guarded, context);
  if (chooses_by_confidence(plan, state, query)) {
    return make_predictor(settle_offer(plan, candidates(plan, state, query, Choice::by_confidence, INT_MAX), context));
  }
  return make_predictor(mixture_by_profile(plan, state, query, plan.options.assign_rule));
}

std::unique_ptr<Predictor> by_few_labels(const FeromaPlan& plan, const FeromaState& state, TestContext& context) {
  if (context.few_labels == nullptr) {
    return nullptr;
  }
  if (plan.options.few_label == FewLabelRule::moments) {
    return make_predictor(by_few_moments(plan, state, context));
  }
  return make_predictor(settle_offer(plan, candidates(plan, state, std::nullopt, Choice::by_labels, INT_MAX), context));
}

std::unique_ptr<Predictor> known(const FeromaState& state, ClientId client) {
  const auto own = std::find_if(state.parents.begin(), state.parents.end(),
                                [&](const Parent& parent) { return parent.client == client; });
  return own == state.parents.end() ? nullptr
                                    : make_single_model_predictor(own->model, {{{own->client, own->round}, 1.0}});
}

}  // namespace

Message visitor_question(const FeromaState& state, const PrivateProfiles* guarded) {
  if (state.parents.empty()) {
    return {};
  }
  Message question = to_message(state.equipment.extractor);
  if (guarded != nullptr) {
    question.values.merge(guarded->bounds_message().values);
  }
  return question;
}

Message visitor_profile(const FeromaPlan& plan, const PrivateProfiles* guarded, const Message& question,
                        TestContext& context) {
  if (question.values.empty()) {
    return {};
  }
  const StageTimer timer(context.seconds, Stage::profile);
  const Extractor extractor = extractor_in(plan, question);
  const EncodedSamples samples =
      encode_samples(plan.options, extractor.encoder, context.trainer, context.data, /*labelled=*/false);
  if (guarded != nullptr) {
    return guarded->tell_unlabelled(context.disclosure, question, project(extractor.projector, samples.rows));
  }
  Profile profile = test_profile(plan, extractor, samples, test_subsampling(plan), context.rng);
  const Profile told{std::move(profile.marginal), {}, {}, profile.num_samples};
  return {{{"profile", encode(told, label_free(plan.shape))}, {"num_samples", Ints{told.num_samples}}}};
}

Offer make_offer(const FeromaPlan& plan, const FeromaState& state, const PrivateProfiles* guarded, const Message& told,
                 const VisitorWish& wish) {
  if (state.parents.empty()) {
    return one_for_all(state);
  }
  const std::optional<Profile> query = read_profile(plan, guarded, told);
  if (wish.few_labels && wish.candidates > 0) {
    return candidates(plan, state, query, Choice::by_labels, wish.candidates);
  }
  return mixture_by_profile(plan, state, query, plan.options.assign_rule);
}

Offer settle_offer(const FeromaPlan& plan, const Offer& offer, TestContext& context) {
  switch (offer.choice) {
    case Choice::as_offered: return offer;
    case Choice::by_confidence:
      return mixture(plan, offer.models, offer.sources,
                     confidence_weights(context.trainer, context.data, offer.models));
    case Choice::by_labels: {
      require(context.few_labels != nullptr, ErrorCode::invalid_data,
              "[feroma] a choice by labels needs labelled samples");
      std::vector<double> losses;
      for (const ParametersPtr& model : offer.models) {
        losses.push_back(context.trainer.evaluate(*model, *context.few_labels).loss());
      }
      return mixture(plan, offer.models, offer.sources, softmax_weights(losses, plan.options.loss_temperature));
    }
  }
  unreachable();
}

std::unique_ptr<Predictor> serve_test_client(const FeromaPlan& plan, const FeromaState& state,
                                             const PrivateProfiles* guarded, TestPolicy policy, TestContext& context) {
  if (state.parents.empty()) {  // still warming up: there is only the global model
    const bool serves = policy == TestPolicy::native || policy == TestPolicy::known_association;
    return serves ? make_predictor(one_for_all(state)) : nullptr;
  }
  switch (policy) {
    case TestPolicy::native: return by_profile(plan, state, guarded, context);
    case TestPolicy::nearest_signature:
      return make_predictor(
          mixture_by_profile(plan, state, told_profile(plan, state, guarded, context), AssignRule::nearest));
    case TestPolicy::few_label: return by_few_labels(plan, state, context);
    case TestPolicy::known_association: return known(state, context.id);
    case TestPolicy::cluster_expectation:
    case TestPolicy::personal_uniform: return nullptr;
  }
  unreachable();
}

}  // namespace feroma
