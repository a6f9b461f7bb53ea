#include "feroma/algorithms/fedavg.h"

#include "algorithms/shared_model.h"

namespace feroma {
namespace {

class FedAvg final : public SharedModel {
 public:
  explicit FedAvg(const FedAvgOptions& options) : SharedModel("fedavg"), options_(options) {}

  void init(const ServerContext& context) override {
    SharedModel::init(context);
    fit_ = with_momentum(context.fit, options_.momentum_reset);
  }

  [[nodiscard]] Message client_step(Round, int, ClientContext& context, const Message& received) const override {
    return answer_of(context, share(train_locally(context, *received.model("model"), fit_, {},
                                                  kept_momentum(options_.momentum_reset))));
  }

 private:
  FedAvgOptions options_;
  FitOptions fit_;
};

}  // namespace

std::unique_ptr<Algorithm> make_fedavg(const FedAvgOptions& options) { return std::make_unique<FedAvg>(options); }

}  // namespace feroma
