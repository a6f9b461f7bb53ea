#pragma once

#include <memory>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/local_training.h"

namespace feroma {

/// FedProx (Li et al., 2020): FedAvg whose clients are pulled back to the model they were given.
struct FedProxOptions {
  static constexpr bool kKeepsMomentum = true;
  double mu = 0.01;
  MomentumChoice momentum_reset = MomentumChoice::inherit;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("mu", self.mu, at_least(0), "weight of the proximal term; 0 gives FedAvg");
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the momentum buffer restarts; inherit takes [training]'s, never keeps it");
  }
  void check(const FedProxOptions&, Problems&, const std::string&) const {}
};

[[nodiscard]] std::unique_ptr<Algorithm> make_fedprox(const FedProxOptions& options);

}  // namespace feroma
