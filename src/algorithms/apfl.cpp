#include "feroma/algorithms/apfl.h"

#include <algorithm>
#include <cmath>

#include "algorithms/momentum_sgd.h"
#include "algorithms/prox.h"
#include "algorithms/shared_model.h"
#include "feroma/aggregation/mix.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

/// The client's memory: its private model and the share it has in the mixture.
const std::string kApflPrivate = "private";
const std::string kApflAlpha = "alpha";
/// The shared model is not remembered, but its momentum may be.
const std::string kApflShared = "model";

Parameters blend(const ParametersPtr& own, const ParametersPtr& shared, float alpha) {
  const std::array<ParametersPtr, 2> sources{own, shared};
  const std::array<float, 2> weights{alpha, 1.0F - alpha};
  return std::move(mix(sources, weights).front());
}

/// target = alpha * own + (1 - alpha) * shared for what is trained. Buffers of the mixture are its own: they follow
/// from the batches it sees.
void blend_trained_(Parameters& target, const Parameters& own, const Parameters& shared, float alpha) {
  for_each_trained(target.layout(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      target.values()[i] = alpha * own.values()[i] + (1.0F - alpha) * shared.values()[i];
    }
  });
}

/// d/dalpha of loss(alpha * own + (1 - alpha) * shared), from the gradient at the mixture.
double alpha_slope(const Parameters& own, const Parameters& shared, std::span<const float> gradient) {
  double slope = 0;
  for_each_trained(own.layout(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      slope += static_cast<double>(own.values()[i] - shared.values()[i]) * static_cast<double>(gradient[i]);
    }
  });
  return slope;
}

class Apfl final : public SharedModel {
 public:
  explicit Apfl(const ApflOptions& options) : SharedModel("apfl"), options_(options) {}

  void init(const ServerContext& context) override {
    SharedModel::init(context);
    fit_ = with_momentum(context.fit, options_.momentum_reset);
    if (options_.strangers == ApflStrangers::with_untrained) {
      untrained_ = share(initialise(context.model, context.rng.derive("second learner")));
    }
  }

  [[nodiscard]] Message client_step(Round, int, ClientContext& context, const Message& received) const override {
    const ParametersPtr& model = received.model("model");
    context.report.before = score_for_the_record(context, *model);
    Pair pair = recall(context.state, model);
    {
      const StageTimer timer(context.seconds, Stage::train);
      options_.variant == ApflVariant::learned ? train_through_mixture(context, pair) : train_apart(context, pair);
    }
    require_finite(pair.own.all_finite() && pair.shared.all_finite(), "apfl", fit_.learning_rate);
    context.report.num_examples = static_cast<std::int64_t>(context.train.size());
    const ParametersPtr own = share(std::move(pair.own));
    const ParametersPtr shared = share(std::move(pair.shared));
    context.report.after = score_for_the_record(context, blend(own, shared, pair.alpha));
    context.state.values[kApflPrivate] = own;
    context.state.values[kApflAlpha] = Floats{pair.alpha};
    if (keeps_momentum()) {
      context.state.values[momentum_of(kApflPrivate)] = std::move(pair.own_momentum);
      context.state.values[momentum_of(kApflShared)] = std::move(pair.shared_momentum);
    }
    return answer_of(context, shared);
  }

  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext& context) const override {
    return policy == TestPolicy::native && untrained_ ? mean_prediction(global(), untrained_)
                                                      : SharedModel::predictor(policy, context);
  }

  [[nodiscard]] std::optional<Offer> offer(const Message&, const VisitorWish&) const override {
    return untrained_ ? std::optional(Offer{Choice::as_offered, {global(), untrained_}, {0.5, 0.5}}) : std::nullopt;
  }

  [[nodiscard]] Passes passes_to_serve(int, bool) const override {
    return {options_.strangers == ApflStrangers::with_untrained ? 2 : 1, 0};
  }

  [[nodiscard]] std::unique_ptr<Predictor> personal(const Message& memory) const override {
    if (!memory.has(kApflPrivate)) {
      return nullptr;
    }
    const ParametersPtr& own = memory.model(kApflPrivate);
    if (options_.variant == ApflVariant::learned) {
      return make_single_model_predictor(share(blend(own, global(), alpha_of(memory))));
    }
    return mean_prediction(global(), own);
  }

 private:
  [[nodiscard]] static std::unique_ptr<Predictor> mean_prediction(const ParametersPtr& a, const ParametersPtr& b) {
    std::vector<WeightedPredictor> members;
    members.push_back({0.5, make_single_model_predictor(a)});
    members.push_back({0.5, make_single_model_predictor(b)});
    return make_ensemble_predictor(std::move(members));
  }

  [[nodiscard]] bool personalised() const override { return true; }

  /// What a client trains in a round.
  struct Pair {
    Parameters own;
    Parameters shared;
    float alpha = 0;
    Floats own_momentum = {};     ///< of rounds before; empty unless it outlives them
    Floats shared_momentum = {};  ///< likewise
  };

  [[nodiscard]] static float alpha_of(const Message& memory) {
    const Floats& alpha = memory.floats(kApflAlpha);
    require(alpha.size() == 1 && alpha[0] >= 0 && alpha[0] <= 1, ErrorCode::invalid_data,
            "[apfl] alpha must be one number in 0..1, got {} numbers, the first {}", alpha.size(),
            alpha.empty() ? 0.0F : alpha[0]);
    return alpha[0];
  }

  /// A client without a private model starts with a copy of the shared one.
  [[nodiscard]] Pair recall(const Message& memory, const ParametersPtr& model) const {
    Pair pair = recall_models(memory, model);
    if (keeps_momentum()) {
      pair.own_momentum = recall_momentum(memory, momentum_of(kApflPrivate), model->size());
      pair.shared_momentum = recall_momentum(memory, momentum_of(kApflShared), model->size());
    }
    return pair;
  }
  [[nodiscard]] Pair recall_models(const Message& memory, const ParametersPtr& model) const {
    if (!memory.has(kApflPrivate)) {
      const double alpha = options_.variant == ApflVariant::learned ? options_.alpha : 0.5;
      return {model->clone(), model->clone(), static_cast<float>(alpha)};
    }
    const ParametersPtr& own = memory.model(kApflPrivate);
    require(own->size() == model->size(), ErrorCode::invalid_data,
            "[apfl] the private model must have {} values, got {}", model->size(), own->size());
    return {own->clone(), model->clone(), alpha_of(memory)};
  }

  /// Every minibatch moves the shared model by its own gradient and the private one by the mixture's.
  void train_through_mixture(ClientContext& context, Pair& pair) const {
    const std::size_t size = pair.own.size();
    Parameters mixture = pair.own.clone();
    MomentumSgd shared_steps(fit_, size, context.train.size(), pair.shared_momentum);
    MomentumSgd own_steps(fit_, size, context.train.size(), pair.own_momentum);
    std::vector<float> shared_gradient(size);
    std::vector<float> gradient(size);
    bool learns_alpha = options_.alpha_update != AlphaUpdate::never;
    double loss_sum = 0;
    double seen = 0;
    context.trainer.for_each_minibatch(context.train, fit_, context.rng.derive("train"), [&](const Batch& batch) {
      const double shared_loss = context.trainer.gradient(pair.shared, batch, shared_gradient);
      blend_trained_(mixture, pair.own, pair.shared, pair.alpha);
      const double loss = context.trainer.gradient(mixture, batch, gradient);
      require_finite(std::isfinite(loss) && std::isfinite(shared_loss), "apfl", fit_.learning_rate);
      const double slope = learns_alpha ? alpha_slope(pair.own, pair.shared, gradient) : 0.0;
      for (float& value : gradient) {
        value *= pair.alpha;
      }
      shared_steps.step(pair.shared.values(), shared_gradient);
      own_steps.step(pair.own.values(), gradient);
      pair.alpha = static_cast<float>(std::clamp(static_cast<double>(pair.alpha) - alpha_rate() * slope, 0.0, 1.0));
      learns_alpha = options_.alpha_update == AlphaUpdate::step;
      loss_sum += loss * batch.size;
      seen += batch.size;
    });
    copy_buffers_(pair.own, mixture);
    pair.own_momentum = own_steps.velocity();
    pair.shared_momentum = shared_steps.velocity();
    context.report.train_loss = seen > 0 ? loss_sum / seen : 0;
  }

  /// As often as there are epochs: both models train that many epochs on halved losses, then the private one moves
  /// half-way to the shared one.
  void train_apart(ClientContext& context, Pair& pair) const {
    const std::vector<float> halves(context.train.size(), 0.5F);
    FitHooks hooks;
    hooks.sample_weights = halves;
    double loss = 0;
    for (int pass = 0; pass < fit_.local_epochs; ++pass) {
      // The first pass draws the minibatches that FedAvg would.
      const Rng rng =
          pass == 0 ? context.rng.derive("train") : context.rng.derive("pass", static_cast<std::uint64_t>(pass));
      // Kept momentum outlives passes too; otherwise it restarts with each.
      hooks.velocity = pair.shared_momentum;
      loss += context.trainer.fit(pair.shared, context.train, fit_, rng, hooks);
      hooks.velocity = pair.own_momentum;
      loss += context.trainer.fit(pair.own, context.train, fit_, rng, hooks);
      for (std::size_t i = 0; i < pair.own.size(); ++i) {
        pair.own.values()[i] = 0.5F * pair.own.values()[i] + 0.5F * pair.shared.values()[i];
      }
    }
    // Two models on halved losses: their sum is the mean loss of a pass.
    context.report.train_loss = loss / std::max(fit_.local_epochs, 1);
  }

  [[nodiscard]] bool keeps_momentum() const { return options_.momentum_reset == MomentumChoice::never; }
  [[nodiscard]] std::string momentum_of(const std::string& model) const {
    return kept_momentum(options_.momentum_reset, model);
  }
  [[nodiscard]] double alpha_rate() const { return options_.alpha_rate > 0 ? options_.alpha_rate : fit_.learning_rate; }

  ApflOptions options_;
  FitOptions fit_;
  ParametersPtr untrained_;  ///< null unless strangers get its predictions too
};

}  // namespace

void ApflOptions::check(const ApflOptions& preset, Problems& problems, const std::string& where) const {
  const auto ignored = [&](std::string_view key, bool changed) {
    if (changed && variant != ApflVariant::learned) {
      problems.add("{}.{} would be ignored: it needs variant learned", where, key);
    }
  };
  constexpr double kDefaultBefore = 1;  // which configs of fixed_half were written down with
  ignored("alpha", alpha != preset.alpha && alpha != kDefaultBefore);
  ignored("alpha_rate", alpha_rate != preset.alpha_rate);
  ignored("alpha_update", alpha_update != preset.alpha_update);
  if (alpha_rate != preset.alpha_rate && alpha_update == AlphaUpdate::never) {
    problems.add("{}.alpha_rate would be ignored: it needs alpha_update round or step", where);
  }
}

std::unique_ptr<Algorithm> make_apfl(const ApflOptions& options) { return std::make_unique<Apfl>(options); }

}  // namespace feroma
