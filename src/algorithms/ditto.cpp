#include "feroma/algorithms/ditto.h"

#include "algorithms/prox.h"
#include "algorithms/shared_model.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

/// The client's memory: its personal model.
const std::string kDittoPersonal = "personal";

class Ditto final : public SharedModel {
 public:
  explicit Ditto(const DittoOptions& options) : SharedModel("ditto"), options_(options) {}

  void init(const ServerContext& context) override {
    SharedModel::init(context);
    fit_ = with_momentum(context.fit, options_.momentum_reset);
    require_stable_pull("lambda", options_.lambda, fit_);
  }

  [[nodiscard]] Message client_step(Round, int, ClientContext& context, const Message& received) const override {
    const Parameters& model = *received.model("model");
    const bool known = context.state.has(kDittoPersonal);
    Parameters personal = known ? context.state.model(kDittoPersonal)->clone() : model.clone();
    require(personal.size() == model.size(), ErrorCode::invalid_data,
            "[ditto] the personal model must have {} values, got {}", model.size(), personal.size());
    Parameters trained = train_locally(context, model, fit_);
    FitHooks hooks;
    hooks.edit_gradient = [&](std::span<const float> params, std::span<float> gradient) {
      add_prox_gradient(model.layout(), params, model.values(), options_.lambda, gradient);
    };
    {
      const StageTimer timer(context.seconds, Stage::train);
      FitOptions fit = fit_;
      fit.local_epochs = options_.personal_epochs > 0 ? options_.personal_epochs : fit_.local_epochs;
      context.report.train_loss =
          context.trainer.fit(personal, context.train, fit, context.rng.derive("personal"), hooks);
    }
    context.report.after = score_for_the_record(context, personal);
    context.state.values[kDittoPersonal] = share(std::move(personal));
    return answer_of(context, share(std::move(trained)));
  }

  [[nodiscard]] std::unique_ptr<Predictor> personal(const Message& memory) const override {
    return memory.has(kDittoPersonal) ? make_single_model_predictor(memory.model(kDittoPersonal)) : nullptr;
  }

 private:
  [[nodiscard]] bool personalised() const override { return true; }

  DittoOptions options_;
  FitOptions fit_;
};

}  // namespace

std::unique_ptr<Algorithm> make_ditto(const DittoOptions& options) { return std::make_unique<Ditto>(options); }

}  // namespace feroma
