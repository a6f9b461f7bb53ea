#include "feroma/algorithms/pfedme.h"

#include <cmath>

#include "algorithms/prox.h"
#include "algorithms/shared_model.h"
#include "feroma/aggregation/mix.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

/// The client's memory: its personal model, under this name.
const std::string kPFedMePersonal = "personal";

class PFedMe final : public SharedModel {
 public:
  explicit PFedMe(const PFedMeOptions& options) : SharedModel("pfedme"), options_(options) {}

  void init(const ServerContext& context) override {
    SharedModel::init(context);
    fit_ = context.fit;
    fit_.learning_rate = options_.personal_rate;
    fit_.momentum = 0;
  }

  [[nodiscard]] Message client_step(Round, int, ClientContext& context, const Message& received) const override {
    const ParametersPtr& shared = received.model("model");
    context.report.before = score_for_the_record(context, *shared);
    // One that is kept outlives drift: the pull and new data reshape it.
    const bool kept_on = options_.personal_start == PersonalStart::kept && context.state.has(kPFedMePersonal);
    Parameters personal = (kept_on ? context.state.model(kPFedMePersonal) : shared)->clone();
    require(personal.size() == shared->size(), ErrorCode::invalid_data,
            "[pfedme] the personal model must have {} values, got {}", shared->size(), personal.size());
    ParametersPtr upload;
    {
      const StageTimer timer(context.seconds, Stage::train);
      upload = options_.variant == PFedMeVariant::moreau ? descend_envelope(context, *shared, personal)
                                                         : train_near(context, *shared, personal);
    }
    context.report.num_examples = static_cast<std::int64_t>(context.train.size());
    context.report.after = score_for_the_record(context, personal);
    const ParametersPtr kept = share(std::move(personal));
    context.state.values[kPFedMePersonal] = kept;
    return answer_of(context, upload == nullptr ? kept : upload);
  }

  [[nodiscard]] std::unique_ptr<Predictor> personal(const Message& memory) const override {
    return memory.has(kPFedMePersonal) ? make_single_model_predictor(memory.model(kPFedMePersonal)) : nullptr;
  }

 private:
  [[nodiscard]] bool personalised() const override { return true; }
  [[nodiscard]] ParametersPtr next(const ParametersPtr& mean) override {
    const bool steps = options_.variant == PFedMeVariant::moreau;
    return steps ? share(extrapolate(mean, global(), options_.beta - 1)) : mean;
  }

  /// The gradient of what the personal model minimises, without the data's part: the pull and the decay.
  void add_pulls(const Parameters& personal, const Parameters& anchor, std::span<float> gradient) const {
    add_prox_gradient(personal.layout(), personal.values(), anchor.values(), options_.lambda, gradient);
    if (options_.weight_decay > 0) {
      const std::vector<float> origin(personal.size());
      add_prox_gradient(personal.layout(), personal.values(), origin, options_.weight_decay, gradient);
    }
  }

  /// On each minibatch the personal model approaches the proximal point of the client's shared model, which then
  /// moves towards it: lambda * (shared - proximal point) is the gradient of the Moreau envelope.
  [[nodiscard]] ParametersPtr descend_envelope(ClientContext& context, const Parameters& received,
                                               Parameters& personal) const {
    Parameters shared = received.clone();
    std::vector<float> gradient(personal.size());
    std::vector<float> no_momentum(personal.size());
    const auto step = static_cast<float>(options_.eta * options_.lambda);
    double loss_sum = 0;
    double seen = 0;
    context.trainer.for_each_minibatch(context.train, fit_, context.rng.derive("train"), [&](const Batch& batch) {
      for (int i = 0; i < options_.inner_steps; ++i) {
        const double loss = context.trainer.gradient(personal, batch, gradient);
        require_finite(std::isfinite(loss), "pfedme", options_.personal_rate);
        // The first step's loss is that of samples the model was not just fitted to.
        loss_sum += i == 0 ? loss * batch.size : 0;
        add_pulls(personal, shared, gradient);
        sgd_step(personal.values(), no_momentum, gradient, options_.personal_rate, 0);
      }
      seen += batch.size;
      for_each_trained(shared.layout(), [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          shared.values()[i] -= step * (shared.values()[i] - personal.values()[i]);
        }
      });
    });
    copy_buffers_(shared, personal);
    require_finite(personal.all_finite() && shared.all_finite(), "pfedme", options_.personal_rate);
    context.report.train_loss = seen > 0 ? loss_sum / seen : 0;
    return share(std::move(shared));
  }

  /// Ordinary epochs with a pull; null says that the personal model itself is sent.
  [[nodiscard]] ParametersPtr train_near(ClientContext& context, const Parameters& shared, Parameters& personal) const {
    FitHooks hooks;
    hooks.edit_gradient = [&](std::span<const float>, std::span<float> gradient) {
      add_pulls(personal, shared, gradient);
    };
    context.report.train_loss = context.trainer.fit(personal, context.train, fit_, context.rng.derive("train"), hooks);
    return nullptr;
  }

  PFedMeOptions options_;
  FitOptions fit_;
};

}  // namespace

void PFedMeOptions::check(const PFedMeOptions& preset, Problems& problems, const std::string& where) const {
  const auto ignored = [&](std::string_view key, bool changed) {
    if (changed && variant != PFedMeVariant::moreau) {
      problems.add("{}.{} would be ignored: it needs variant moreau", where, key);
    }
  };
  ignored("eta", eta != preset.eta);
  ignored("beta", beta != preset.beta);
  ignored("inner_steps", inner_steps != preset.inner_steps);
  if (personal_rate * lambda >= 2) {
    problems.add("{}.personal_rate times lambda must be < 2 or steps overshoot, got {}", where, personal_rate * lambda);
  }
  if (variant == PFedMeVariant::moreau && eta * lambda > 1) {
    problems.add("{}.eta times lambda must be <= 1 or the shared model overshoots, got {}", where, eta * lambda);
  }
}

std::unique_ptr<Algorithm> make_pfedme(const PFedMeOptions& options) { return std::make_unique<PFedMe>(options); }

}  // namespace feroma
