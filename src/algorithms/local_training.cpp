#include "feroma/algorithms/local_training.h"

#include "feroma/core/error.h"

namespace feroma {

FitOptions with_momentum(FitOptions fit, MomentumChoice choice) {
  switch (choice) {
    case MomentumChoice::inherit: return fit;
    case MomentumChoice::epoch: fit.momentum_reset = MomentumReset::epoch; return fit;
    case MomentumChoice::round: fit.momentum_reset = MomentumReset::round; return fit;
  }
  unreachable();
}

Tally score_for_the_record(ClientContext& context, const Parameters& model) {
  const StageTimer timer(context.seconds, Stage::evaluate);
  const Passes before = context.trainer.passes();
  const Tally tally = context.trainer.evaluate(model, context.held_out);
  context.trainer.passes() = before;
  return tally;
}

Parameters train_locally(ClientContext& context, const Parameters& received, const FitOptions& fit,
                         const FitHooks& hooks) {
  context.report.before = score_for_the_record(context, received);
  Parameters params = received.clone();
  {
    const StageTimer timer(context.seconds, Stage::train);
    context.report.train_loss = context.trainer.fit(params, context.train, fit, context.rng.derive("train"), hooks);
  }
  context.report.num_examples = static_cast<std::int64_t>(context.train.size());
  context.report.after = score_for_the_record(context, params);
  return params;
}

}  // namespace feroma
