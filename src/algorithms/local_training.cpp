#include "feroma/algorithms/local_training.h"

#include "feroma/core/error.h"

namespace feroma {

FitOptions with_momentum(FitOptions fit, MomentumChoice choice) {
  switch (choice) {
    case MomentumChoice::inherit: return fit;
    case MomentumChoice::epoch: fit.momentum_reset = MomentumReset::epoch; return fit;
    case MomentumChoice::round:
    case MomentumChoice::never: fit.momentum_reset = MomentumReset::round; return fit;
  }
  unreachable();
}

std::string kept_momentum(MomentumChoice choice, std::string_view model) {
  return choice == MomentumChoice::never ? fmt::format("momentum.{}", model) : std::string();
}

Floats recall_momentum(const Message& memory, const std::string& kept, std::size_t size) {
  if (!memory.has(kept)) {
    return Floats(size);
  }
  const Floats& velocity = memory.floats(kept);
  require(velocity.size() == size, ErrorCode::invalid_data, "[training] {} must have {} values, got {}", kept, size,
          velocity.size());
  return velocity;
}

FitOptions with_learning_rate(FitOptions fit, double rate) {
  fit.learning_rate = rate > 0 ? rate : fit.learning_rate;
  return fit;
}

Tally score_for_the_record(ClientContext& context, const Parameters& model) {
  const StageTimer timer(context.seconds, Stage::evaluate);
  const Passes before = context.trainer.passes();
  const Tally tally = context.trainer.evaluate(model, context.held_out);
  context.trainer.passes() = before;
  return tally;
}

Parameters train_locally(ClientContext& context, const Parameters& received, const FitOptions& fit,
                         const FitHooks& hooks, const std::string& kept) {
  context.report.before = score_for_the_record(context, received);
  Parameters params = received.clone();
  FitHooks all = hooks;
  Floats velocity;
  if (!kept.empty()) {
    velocity = recall_momentum(context.state, kept, params.size());
    all.velocity = velocity;
  }
  {
    const StageTimer timer(context.seconds, Stage::train);
    context.report.train_loss = context.trainer.fit(params, context.train, fit, context.rng.derive("train"), all);
  }
  if (!kept.empty()) {
    context.state.values[kept] = std::move(velocity);
  }
  context.report.num_examples = static_cast<std::int64_t>(context.train.size());
  context.report.after = score_for_the_record(context, params);
  return params;
}

}  // namespace feroma
