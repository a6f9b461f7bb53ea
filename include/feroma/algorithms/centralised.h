#pragma once

#include <memory>

#include "feroma/algorithms/algorithm.h"

namespace feroma {

/**
 * One model trained on everybody's current data, as if they lay in one place: what federation gives away. In every
 * step each client sends the gradient of one minibatch and the server takes one momentum step along their mean by
 * samples, which is SGD on the union of the minibatches; momentum starts again each round. A batch has as many samples
 * as all clients' together, and a round as many messages as steps. Where clients disagree on labels (P(Y|X)) one model
 * is no upper bound, however it is trained. A client's scores are those of the model before the round's last step.
 */
struct CentralisedOptions {
  int steps = 50;
  double learning_rate = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("steps", self.steps, at_least(1), "steps of the server per round, each with a minibatch of every client");
    visit("learning_rate", self.learning_rate, at_least(0), "learning rate of these steps; 0 takes [training]'s");
  }
  void check(const CentralisedOptions&, Problems&, const std::string&) const {}
};

[[nodiscard]] std::unique_ptr<Algorithm> make_centralised(const CentralisedOptions& options);

}  // namespace feroma
