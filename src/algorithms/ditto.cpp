#include "feroma/algorithms/ditto.h"

#include "algorithms/answers.h"
#include "algorithms/prox.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

/// The client's memory: its personal model.
const std::string kDittoPersonal = "personal";

class Ditto final : public Algorithm {
 public:
  explicit Ditto(const DittoOptions& options) : options_(options) {}

  void init(const ServerContext& context) override {
    fit_ = with_momentum(context.fit, options_.momentum_reset);
    global_ = context.initial;
  }

  [[nodiscard]] Message downlink(Round, int, ClientId) const override { return {{{"model", global_}}}; }

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
    return {{{"model", share(std::move(trained))}, {"num_examples", Ints{context.report.num_examples}}}};
  }

  void uplink(Round, int, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    const StageTimer timer(seconds, Stage::aggregate);
    const ParametersPtr mean = mean_of_answers("ditto", answers, "model", *global_);
    global_ = mean == nullptr ? global_ : mean;
  }

  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext&) const override {
    return policy == TestPolicy::native ? make_single_model_predictor(global_) : nullptr;
  }
  [[nodiscard]] std::unique_ptr<Predictor> personal(const Message& memory) const override {
    return memory.has(kDittoPersonal) ? make_single_model_predictor(memory.model(kDittoPersonal)) : nullptr;
  }
  [[nodiscard]] std::vector<ServedModel> served() const override { return {{std::nullopt, 0, global_, {}, 0}}; }

  void save(ModelWriter& out) const override { out.put(global_); }
  void load(ModelReader& in) override { global_ = in.get_model(); }

 private:
  DittoOptions options_;
  FitOptions fit_;
  ParametersPtr global_;
};

}  // namespace

std::unique_ptr<Algorithm> make_ditto(const DittoOptions& options) { return std::make_unique<Ditto>(options); }

}  // namespace feroma
