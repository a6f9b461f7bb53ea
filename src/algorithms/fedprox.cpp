#include "feroma/algorithms/fedprox.h"

#include "algorithms/prox.h"
#include "algorithms/shared_model.h"

namespace feroma {
namespace {

class FedProx final : public SharedModel {
 public:
  explicit FedProx(const FedProxOptions& options) : SharedModel("fedprox"), options_(options) {}

  void init(const ServerContext& context) override {
    SharedModel::init(context);
    fit_ = with_momentum(context.fit, options_.momentum_reset);
    require_stable_pull("mu", options_.mu, fit_);
  }

  [[nodiscard]] Message client_step(Round, int, ClientContext& context, const Message& received) const override {
    const Parameters& model = *received.model("model");
    FitHooks hooks;
    if (options_.mu > 0) {
      hooks.edit_gradient = [&](std::span<const float> params, std::span<float> gradient) {
        add_prox_gradient(model.layout(), params, model.values(), options_.mu, gradient);
      };
    }
    return answer_of(context,
                     share(train_locally(context, model, fit_, hooks, kept_momentum(options_.momentum_reset))));
  }

 private:
  FedProxOptions options_;
  FitOptions fit_;
};

}  // namespace

std::unique_ptr<Algorithm> make_fedprox(const FedProxOptions& options) { return std::make_unique<FedProx>(options); }

}  // namespace feroma
