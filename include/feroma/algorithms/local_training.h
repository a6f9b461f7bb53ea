#pragma once

#include "feroma/client/context.h"
#include "feroma/core/problems.h"
#include "feroma/models/parameters.h"

namespace feroma {

/// When a method's momentum restarts: as the `[training]` table says, every epoch, every round, or never.
enum class MomentumChoice { inherit, epoch, round, never };
constexpr auto enum_names(MomentumChoice) {
  using enum MomentumChoice;
  return std::array<std::pair<MomentumChoice, std::string_view>, 4>{
      {{inherit, "inherit"}, {epoch, "epoch"}, {round, "round"}, {never, "never"}}};
}
/// Within a round `never` is `round`; what is kept between rounds is the client's to remember.
[[nodiscard]] FitOptions with_momentum(FitOptions fit, MomentumChoice choice);
/// Where a client that never restarts keeps the momentum of a model; empty under every other choice.
[[nodiscard]] std::string kept_momentum(MomentumChoice choice, std::string_view model = "model");
/// What it has kept there for a model of so many values: zeros at first. Another size is an invalid_data error.
[[nodiscard]] Floats recall_momentum(const Message& memory, const std::string& kept, std::size_t size);
/// `never` is a mistake unless the options say that clients keep momentum: `static constexpr bool kKeepsMomentum`.
template <class Options>
void check_momentum(const Options& options, Problems& problems, const std::string& where) {
  constexpr bool kChooses = requires { options.momentum_reset == MomentumChoice::never; };
  if constexpr (kChooses && !requires { Options::kKeepsMomentum; }) {
    if (options.momentum_reset == MomentumChoice::never) {
      problems.add("{}.momentum_reset must be one of inherit, epoch, round, got never: its clients keep no momentum",
                   where);
    }
  }
}

/// A method's own learning rate; 0 leaves the `[training]` table's.
[[nodiscard]] FitOptions with_learning_rate(FitOptions fit, double rate);

/// How a model does on the client's held-out split; telemetry, so it is no part of what the method costs.
[[nodiscard]] Tally score_for_the_record(ClientContext& context, const Parameters& model);

/// One client's round as most methods do it: score the received model, train it, score the result. Fills the report.
/// Momentum starts from zero, or from what the client remembers under `kept`, where it is then remembered again.
[[nodiscard]] Parameters train_locally(ClientContext& context, const Parameters& received, const FitOptions& fit,
                                       const FitHooks& hooks = {}, const std::string& kept = {});

}  // namespace feroma
