#pragma once

#include "feroma/client/context.h"
#include "feroma/models/parameters.h"

namespace feroma {

/// What a preset does to the momentum policy of the `[training]` table.
enum class MomentumChoice { inherit, epoch, round };
constexpr auto enum_names(MomentumChoice) {
  using enum MomentumChoice;
  return std::array<std::pair<MomentumChoice, std::string_view>, 3>{
      {{inherit, "inherit"}, {epoch, "epoch"}, {round, "round"}}};
}
[[nodiscard]] FitOptions with_momentum(FitOptions fit, MomentumChoice choice);

/// How a model does on the client's held-out split; telemetry, so it is no part of what the method costs.
[[nodiscard]] Tally score_for_the_record(ClientContext& context, const Parameters& model);

/// One client's round as most methods do it: score the received model, train it, score the result. Fills the report.
[[nodiscard]] Parameters train_locally(ClientContext& context, const Parameters& received, const FitOptions& fit,
                                       const FitHooks& hooks = {});

}  // namespace feroma
