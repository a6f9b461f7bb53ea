#include "feroma/algorithms/fedavg.h"

#include "feroma/aggregation/mix.h"

namespace feroma {
namespace {

class FedAvg final : public Algorithm {
 public:
  explicit FedAvg(const FedAvgOptions& options) : options_(options) {}

  void init(const ServerContext& context) override {
    fit_ = with_momentum(context.fit, options_.momentum_reset);
    global_ = context.initial;
  }

  [[nodiscard]] Message downlink(Round, int, ClientId) const override { return {{{"model", global_}}}; }

  [[nodiscard]] Message client_step(Round, int, ClientContext& context, const Message& received) const override {
    Parameters trained = train_locally(context, *received.model("model"), fit_);
    return {{{"model", share(std::move(trained))}, {"num_examples", Ints{context.report.num_examples}}}};
  }

  void uplink(Round, int, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    const StageTimer timer(seconds, Stage::aggregate);
    std::vector<ParametersPtr> models;
    std::vector<std::int64_t> counts;
    for (const auto& [client, answer] : answers) {
      models.push_back(answer.model("model"));
      counts.push_back(answer.integer("num_examples"));
    }
    if (!models.empty()) {  // a round in which everybody dropped out leaves the model as it is
      global_ = share(weighted_mean(models, counts));
    }
  }

  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext&) const override {
    const bool serves = policy == TestPolicy::native || policy == TestPolicy::known_association;
    return serves ? make_single_model_predictor(global_) : nullptr;
  }

  [[nodiscard]] std::vector<ServedModel> served() const override { return {{std::nullopt, 0, global_, {}, 0}}; }

  void save(ModelWriter& out) const override { out.put(global_); }
  void load(ModelReader& in) override { global_ = in.get_model(); }

 private:
  FedAvgOptions options_;
  FitOptions fit_;
  ParametersPtr global_;
};

}  // namespace

std::unique_ptr<Algorithm> make_fedavg(const FedAvgOptions& options) { return std::make_unique<FedAvg>(options); }

}  // namespace feroma
