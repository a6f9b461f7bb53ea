#pragma once

#include <array>
#include <memory>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/local_training.h"

namespace feroma {

/// How private and shared model are put together.
enum class ApflVariant {
  learned,     ///< the paper: the private model is trained through the mixture, whose share is learned
  fixed_half,  ///< LINs-lab/FedRC's code: share 1/2, models trained apart, predictions averaged, E^2 local epochs
};
constexpr auto enum_names(ApflVariant) {
  using enum ApflVariant;
  return std::array<std::pair<ApflVariant, std::string_view>, 2>{{{learned, "learned"}, {fixed_half, "fixed_half"}}};
}

/// How often a client's share of its private model is learned.
enum class AlphaUpdate { round, step, never };
constexpr auto enum_names(AlphaUpdate) {
  using enum AlphaUpdate;
  return std::array<std::pair<AlphaUpdate, std::string_view>, 3>{{{round, "round"}, {step, "step"}, {never, "never"}}};
}

/// What serves a client that is not known.
enum class ApflStrangers {
  shared,          ///< the shared model
  with_untrained,  ///< its mean prediction with a second model that nobody ever trained
};
constexpr auto enum_names(ApflStrangers) {
  using enum ApflStrangers;
  return std::array<std::pair<ApflStrangers, std::string_view>, 2>{
      {{shared, "shared"}, {with_untrained, "with_untrained"}}};
}

/// APFL (Deng et al., 2020): a client predicts with alpha * private + (1 - alpha) * shared parameters. The authors'
/// code starts at alpha 0.5, a public port at 1, where a client is on its own: if its share is never learned then, the
/// method is `local` to the bit, and if it is, hardly another one.
struct ApflOptions {
  static constexpr bool kKeepsMomentum = true;
  ApflVariant variant = ApflVariant::learned;
  double alpha = 0.5;
  double alpha_rate = 0;
  AlphaUpdate alpha_update = AlphaUpdate::round;
  ApflStrangers strangers = ApflStrangers::shared;
  MomentumChoice momentum_reset = MomentumChoice::inherit;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("variant", self.variant, anything(), "learned is the paper's method, fixed_half the code of LINs-lab/FedRC");
    visit("alpha", self.alpha, between(0, 1),
          "share of the private model that a client starts with: 0.5 in the authors' code, 1 is a client on its own (a "
          "public port); learned only");
    visit("alpha_rate", self.alpha_rate, at_least(0),
          "learning rate of that share; 0 takes [training]'s; learned only");
    visit("alpha_update", self.alpha_update, anything(),
          "whether the share is learned on each round's first minibatch, on every one, or never; learned only");
    visit("strangers", self.strangers, anything(),
          "who is not known gets the shared model's predictions, or their mean with an untrained one's (public code)");
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the momentum buffer restarts; inherit takes [training]'s, never keeps it (public code)");
  }
  void check(const ApflOptions& preset, Problems& problems, const std::string& where) const;
};

[[nodiscard]] std::unique_ptr<Algorithm> make_apfl(const ApflOptions& options);

}  // namespace feroma
