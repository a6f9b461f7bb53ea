#include "feroma/algorithms/centralised.h"

#include <algorithm>
#include <cmath>

#include "algorithms/prox.h"
#include "feroma/algorithms/answers.h"
#include "feroma/algorithms/local_training.h"
#include "feroma/core/error.h"
#include "feroma/engine/sgd.h"

namespace feroma {
namespace {

class Centralised final : public Algorithm {
 public:
  explicit Centralised(const CentralisedOptions& options) : options_(options) {}

  void init(const ServerContext& context) override {
    fit_ = context.fit;
    fit_.learning_rate = options_.learning_rate > 0 ? options_.learning_rate : fit_.learning_rate;
    global_ = context.initial;
  }

  [[nodiscard]] int phases(Round) const override { return options_.steps; }
  [[nodiscard]] Message downlink(Round, int, ClientId) const override { return {{{"model", global_}}}; }

  [[nodiscard]] Message client_step(Round, int phase, ClientContext& context, const Message& received) const override {
    Parameters model = received.model("model")->clone();
    context.report.num_examples = static_cast<std::int64_t>(context.train.size());
    if (phase == options_.steps - 1) {
      context.report.before = score_for_the_record(context, model);
      context.report.after = context.report.before;
    }
    Parameters gradient(model.shared_layout());
    const StageTimer timer(context.seconds, Stage::train);
    const std::vector<std::uint32_t> items = minibatch(context, static_cast<std::size_t>(phase));
    if (!items.empty()) {
      const Batch batch = assemble(context.train, items, context.trainer.engine().layout());
      context.report.train_loss = context.trainer.gradient(model, batch, gradient.values());
      require(std::isfinite(context.report.train_loss), ErrorCode::invalid_data,
              "[centralised] the loss must stay finite, got {}", context.report.train_loss);
    }
    // Buffers have no gradient; in their place go the values they took on.
    copy_buffers_(gradient, model);
    return {
        {{"gradient", share(std::move(gradient))}, {"num_examples", Ints{static_cast<std::int64_t>(items.size())}}}};
  }

  void check_answer(Round, int, ClientId client, const Message& message) const override {
    const Answer answer("centralised", client, message);
    answer.model("gradient", *global_);
    answer.examples();
    answer.expect_nothing_else();
  }

  void uplink(Round, int phase, std::map<ClientId, Message>& answers, StageSeconds& seconds) override {
    const StageTimer timer(seconds, Stage::aggregate);
    velocity_.resize(global_->size());
    if (phase == 0) {
      std::fill(velocity_.begin(), velocity_.end(), 0.0F);
    }
    const ParametersPtr mean = mean_of_answers(answers, "gradient");
    if (mean == nullptr) {
      return;
    }
    Parameters next = global_->clone();
    sgd_step(next.values(), velocity_, mean->values(), fit_.learning_rate, fit_.momentum);
    copy_buffers_(next, *mean);
    global_ = share(std::move(next));
  }

  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext&) const override {
    const bool serves = policy == TestPolicy::native || policy == TestPolicy::known_association;
    return serves ? make_single_model_predictor(global_) : nullptr;
  }
  [[nodiscard]] std::vector<ServedModel> served() const override { return {{std::nullopt, 0, global_, {}, 0}}; }

  void save(ModelWriter& out) const override { out.put(global_); }  // momentum does not outlive a round
  void load(ModelReader& in) override { global_ = in.get_model(); }

 private:
  /// The samples that local training would take in its step number `step`, over as many epochs as it takes.
  [[nodiscard]] std::vector<std::uint32_t> minibatch(const ClientContext& context, std::size_t step) const {
    const std::size_t samples = context.train.size();
    if (samples == 0) {
      return {};
    }
    const auto size = static_cast<std::size_t>(fit_.batch_size);
    const std::size_t per_epoch = (samples + size - 1) / size;
    const std::vector<std::uint32_t> order =
        context.rng.derive("train").derive("epoch", step / per_epoch).permutation(samples);
    const std::size_t begin = step % per_epoch * size;
    const std::size_t end = std::min(begin + size, samples);
    return {order.begin() + static_cast<std::ptrdiff_t>(begin), order.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  CentralisedOptions options_;
  FitOptions fit_;
  ParametersPtr global_;
  std::vector<float> velocity_;
};

}  // namespace

std::unique_ptr<Algorithm> make_centralised(const CentralisedOptions& options) {
  return std::make_unique<Centralised>(options);
}

}  // namespace feroma
