#pragma once

#include "feroma/algorithms/feddrift.h"

namespace feroma {

/// What the models of the task achieve on the windows it names. The client keeps the models until it is told what to
/// train, so that nobody is sent one twice in a round.
[[nodiscard]] Message score_models(ClientContext& context, const Message& received, const FedDriftOptions& options,
                                   const FitOptions& fit, int classes);

/// Trains the models of the task, each on its windows: those that were sent and, where `kept` names a number >= 0,
/// those that the client has scored under it.
[[nodiscard]] Message train_models(ClientContext& context, const Message& received, const FedDriftOptions& options,
                                   const FitOptions& fit);

/// Lets go of the models that were scored.
void drop_scored(Message& state);

}  // namespace feroma
