#pragma once

#include <memory>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/on_top.h"
#include "feroma/algorithms/test_time.h"

namespace feroma {

/**
 * ATP (Bao et al., NeurIPS 2023): FedAvg (or Feroma), then rounds in which clients learn, on their held-out samples,
 * how far each tensor should follow the entropy of the model's predictions; a test client adapts by these rates without
 * labels.
 */
struct AtpOptions {
  StartFrom start = StartFrom::fedavg;
  MomentumChoice momentum_reset = MomentumChoice::inherit;
  int rate_rounds = 20;
  double rate_learning_rate = 0.1;
  int batch_size = 64;
  AdaptMode mode = AdaptMode::batch;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("start", self.start, anything(), "whose model a test client starts from; fedavg is the published method");
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the momentum buffer restarts; inherit takes [training]'s");
    visit("rate_rounds", self.rate_rounds, at_least(0),
          "rounds after the scheduled ones in which rates are learned; the authors take 200 to 400");
    visit("rate_learning_rate", self.rate_learning_rate, at_least(0), "step size of the rates; 0 gives FedAvg");
    visit("batch_size", self.batch_size, at_least(1), "samples that are adapted to together, in learning and testing");
    visit("mode", self.mode, anything(),
          "a batch is predicted after adapting to it alone, or by the mean of all models adapted so far (online)");
  }
  void check(const AtpOptions& preset, Problems& problems, const std::string& where) const;
};

[[nodiscard]] std::unique_ptr<Algorithm> make_atp(const AtpOptions& options);

}  // namespace feroma
