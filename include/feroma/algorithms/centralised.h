#pragma once

#include <memory>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/local_training.h"

namespace feroma {

/**
 * One model trained on everybody's current data in one place: what federation gives away. Every round the clients tell
 * how many samples they have, hand them over, and one of them trains the model on the union as it would on data of its
 * own: the training's batch size and epochs, over all samples. Both ways of the samples count as traffic. Where clients
 * disagree on labels (P(Y|X)) one model is no upper bound, however it is trained.
 *
 * For simulations alone: a client on a machine of its own refuses to hand over anything.
 */
struct CentralisedOptions {
  double learning_rate = 0;
  MomentumChoice momentum_reset = MomentumChoice::inherit;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("learning_rate", self.learning_rate, at_least(0), "learning rate; 0 takes [training]'s");
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the momentum buffer restarts; inherit takes [training]'s");
  }
  void check(const CentralisedOptions&, Problems&, const std::string&) const {}
};

[[nodiscard]] std::unique_ptr<Algorithm> make_centralised(const CentralisedOptions& options);

}  // namespace feroma
