#pragma once

#include <memory>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/on_top.h"

namespace feroma {

/// A test client with a few labelled samples takes a few gradient steps on them, from the model it is given.
struct FinetuneOptions {
  StartFrom start = StartFrom::fedavg;
  MomentumChoice momentum_reset = MomentumChoice::inherit;
  int steps = 10;
  double learning_rate = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("start", self.start, anything(), "whose model a test client starts from");
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the momentum buffer restarts; inherit takes [training]'s");
    visit("steps", self.steps, at_least(0), "gradient steps on the labelled samples; 0 leaves the model as it is");
    visit("learning_rate", self.learning_rate, at_least(0), "their step size; 0 takes [training]'s");
  }
  void check(const FinetuneOptions& defaults, Problems& problems, const std::string& where) const;
};

[[nodiscard]] std::unique_ptr<Algorithm> make_finetune(const FinetuneOptions& options);

}  // namespace feroma
