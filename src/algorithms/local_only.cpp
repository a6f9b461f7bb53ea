#include "feroma/algorithms/local_only.h"

#include "feroma/algorithms/answers.h"

namespace feroma {
namespace {

/// The client's memory: its model.
const std::string kLocalModel = "model";

class LocalOnly final : public Algorithm {
 public:
  explicit LocalOnly(const LocalOnlyOptions& options) : options_(options) {}

  void init(const ServerContext& context) override {
    fit_ = with_momentum(context.fit, options_.momentum_reset);
    initial_ = context.initial;
  }

  [[nodiscard]] Message downlink(Round, int, ClientId) const override { return {}; }

  [[nodiscard]] Message client_step(Round, int, ClientContext& context, const Message&) const override {
    const ParametersPtr start = context.state.has(kLocalModel) ? context.state.model(kLocalModel) : initial_;
    context.state.values[kLocalModel] =
        share(train_locally(context, *start, fit_, {}, kept_momentum(options_.momentum_reset)));
    return {};
  }

  void check_answer(Round, int, ClientId client, const Message& message) const override {
    Answer("local", client, message).expect_nothing_else();
  }

  void uplink(Round, int, std::map<ClientId, Message>&, StageSeconds&) override {}

  /// Strangers get the mean prediction of all clients' models, which the evaluation makes from these.
  [[nodiscard]] std::unique_ptr<Predictor> personal(const Message& memory) const override {
    return memory.has(kLocalModel) ? make_single_model_predictor(memory.model(kLocalModel)) : nullptr;
  }
  [[nodiscard]] std::vector<ServedModel> served() const override { return {}; }

  void save(ModelWriter&) const override {}
  void load(ModelReader&) override {}

 private:
  LocalOnlyOptions options_;
  FitOptions fit_;
  ParametersPtr initial_;
};

}  // namespace

std::unique_ptr<Algorithm> make_local_only(const LocalOnlyOptions& options) {
  return std::make_unique<LocalOnly>(options);
}

}  // namespace feroma
