#pragma once

#include <memory>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/local_training.h"

namespace feroma {

/// Ditto (Li et al., 2021): FedAvg, and beside it every client trains a personal model that is pulled to the shared
/// model it was given. The paper picks lambda per data set; 0.1 is in the middle of what it tries.
struct DittoOptions {
  double lambda = 0.1;
  int personal_epochs = 0;
  MomentumChoice momentum_reset = MomentumChoice::inherit;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("lambda", self.lambda, at_least(0), "how strongly a personal model is pulled to the shared one");
    visit("personal_epochs", self.personal_epochs, at_least(0),
          "epochs of the personal model per round; 0 takes [training]'s");
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the momentum buffer restarts; inherit takes [training]'s");
  }
  void check(const DittoOptions&, Problems&, const std::string&) const {}
};

[[nodiscard]] std::unique_ptr<Algorithm> make_ditto(const DittoOptions& options);

}  // namespace feroma
