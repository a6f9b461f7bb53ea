#include "feroma/algorithms/finetune.h"

#include "algorithms/momentum_sgd.h"

namespace feroma {
namespace {

class Finetune final : public OnTop {
 public:
  explicit Finetune(const FinetuneOptions& options) : OnTop(options.start, options.momentum_reset), options_(options) {}

  void init(const ServerContext& context) override {
    OnTop::init(context);
    fit_ = with_momentum(context.fit, options_.momentum_reset);
    if (options_.learning_rate > 0) {
      fit_.learning_rate = options_.learning_rate;
    }
  }

  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext& context) const override {
    if (policy != TestPolicy::few_label) {
      return OnTop::predictor(policy, context);
    }
    if (context.few_labels == nullptr) {
      return nullptr;
    }
    ParametersPtr start = assigned(TestPolicy::few_label, context);
    if (start == nullptr) {  // a system that cannot choose by labels has one model for everybody
      start = assigned(TestPolicy::native, context);
    }
    return start == nullptr ? nullptr : make_single_model_predictor(share(tuned(*start, context)));
  }

  /// A visitor with labels goes on from what it settled on, as a test client does.
  [[nodiscard]] std::optional<Offer> settle(const Offer& offer, TestContext& context) const override {
    std::optional<Offer> settled = OnTop::settle(offer, context);
    if (context.few_labels == nullptr) {
      return settled;
    }
    Offer result = settled ? std::move(*settled) : offer;
    require(result.models.size() == 1, ErrorCode::invalid_data, "[finetune] must have one model to go on from, got {}",
            result.models.size());
    result.models.front() = share(tuned(*result.models.front(), context));
    return result;
  }

 private:
  [[nodiscard]] Parameters tuned(const Parameters& start, TestContext& context) const {
    const View& labelled = *context.few_labels;
    Parameters params = start.clone();
    MomentumSgd sgd(fit_, params.size(), labelled.size());
    std::vector<float> gradient(params.size());
    FitOptions enough = fit_;
    const auto batch = static_cast<std::size_t>(fit_.batch_size);
    const std::size_t per_epoch = std::max<std::size_t>((labelled.size() + batch - 1) / batch, 1);
    const auto steps = static_cast<std::size_t>(options_.steps);
    enough.local_epochs = static_cast<int>((steps + per_epoch - 1) / per_epoch);
    std::size_t taken = 0;
    context.trainer.for_each_minibatch(labelled, enough, context.rng.derive("finetune"), [&](const Batch& minibatch) {
      if (taken++ < steps) {
        context.trainer.gradient(params, minibatch, gradient);
        sgd.step(params.values(), gradient);
      }
    });
    return params;
  }

  FinetuneOptions options_;
  FitOptions fit_;
};

}  // namespace

void FinetuneOptions::check(const FinetuneOptions& defaults, Problems& problems, const std::string& where) const {
  if (steps == 0 && learning_rate != defaults.learning_rate) {
    problems.add("{}.learning_rate would be ignored with steps = 0", where);
  }
}

std::unique_ptr<Algorithm> make_finetune(const FinetuneOptions& options) { return std::make_unique<Finetune>(options); }

}  // namespace feroma
