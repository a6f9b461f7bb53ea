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

Parameters train_locally(ClientContext& context, const Parameters& received, const FitOptions& fit) {
  {
    const StageTimer timer(context.seconds, Stage::evaluate);
    context.report.before = context.trainer.evaluate(received, context.held_out);
  }
  Parameters params = received.clone();
  {
    const StageTimer timer(context.seconds, Stage::train);
    context.report.train_loss = context.trainer.fit(params, context.train, fit, context.rng.derive("train"));
  }
  const StageTimer timer(context.seconds, Stage::evaluate);
  context.report.num_examples = static_cast<std::int64_t>(context.train.size());
  context.report.after = context.trainer.evaluate(params, context.held_out);
  return params;
}

}  // namespace feroma
