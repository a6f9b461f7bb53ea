#include "feroma/algorithms/fedprox.h"

#include "algorithms/answers.h"
#include "algorithms/prox.h"

namespace feroma {
namespace {

class FedProx final : public Algorithm {
 public:
  explicit FedProx(const FedProxOptions& options) : options_(options) {}

  void init(const ServerContext& context) override {
    fit_ = with_momentum(context.fit, options_.momentum_reset);
    global_ = context.initial;
  }

  [[nodiscard]] Message downlink(Round, int, ClientId) const override { return {{{"model", global_}}}; }

  [[nodiscard]] Message client_step(Round, int, ClientContext& context, const Message& received) const override {
    const Parameters& model = *received.model("model");
    FitHooks hooks;
    if (options_.mu > 0) {
      hooks.edit_gradient = [&](std::span<const float> params, std::span<float> gradient) {
        add_prox_gradient(model.layout(), params, model.values(), options_.mu, gradient);
      };
    }
    Parameters trained = train_locally(context, model, fit_, hooks);
    return {{{"model", share(std::move(trained))}, {"num_examples", Ints{context.report.num_examples}}}};
  }

  void uplink(Round, int, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    const StageTimer timer(seconds, Stage::aggregate);
    const ParametersPtr mean = mean_of_answers("fedprox", answers, "model", *global_);
    global_ = mean == nullptr ? global_ : mean;
  }

  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext&) const override {
    const bool serves = policy == TestPolicy::native || policy == TestPolicy::known_association;
    return serves ? make_single_model_predictor(global_) : nullptr;
  }
  [[nodiscard]] std::vector<ServedModel> served() const override { return {{std::nullopt, 0, global_, {}, 0}}; }

  void save(ModelWriter& out) const override { out.put(global_); }
  void load(ModelReader& in) override { global_ = in.get_model(); }

 private:
  FedProxOptions options_;
  FitOptions fit_;
  ParametersPtr global_;
};

}  // namespace

std::unique_ptr<Algorithm> make_fedprox(const FedProxOptions& options) { return std::make_unique<FedProx>(options); }

}  // namespace feroma
