#pragma once

#include <memory>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/local_training.h"

namespace feroma {

/// Every client trains its own model for ever and nothing is shared: what federation has to beat. Models start from
/// the run's initial one, which everybody can draw from the seed, so that nothing is sent either way.
struct LocalOnlyOptions {
  static constexpr bool kKeepsMomentum = true;
  MomentumChoice momentum_reset = MomentumChoice::inherit;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the momentum buffer restarts; inherit takes [training]'s, never keeps it");
  }
  void check(const LocalOnlyOptions&, Problems&, const std::string&) const {}
};

[[nodiscard]] std::unique_ptr<Algorithm> make_local_only(const LocalOnlyOptions& options);

}  // namespace feroma
