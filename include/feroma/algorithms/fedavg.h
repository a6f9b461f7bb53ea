#pragma once

#include <memory>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/local_training.h"

namespace feroma {

/// FedAvg (McMahan et al., 2017): one global model, the sample-weighted mean of the clients' models.
struct FedAvgOptions {
  static constexpr bool kKeepsMomentum = true;
  MomentumChoice momentum_reset = MomentumChoice::inherit;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the momentum buffer restarts; inherit takes [training]'s, never keeps it (public code)");
  }
  void check(const FedAvgOptions&, Problems&, const std::string&) const {}
};

[[nodiscard]] std::unique_ptr<Algorithm> make_fedavg(const FedAvgOptions& options);

}  // namespace feroma
