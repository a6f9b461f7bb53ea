#pragma once

#include <memory>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/local_training.h"

namespace feroma {

/**
 * SCAFFOLD (Karimireddy et al., 2020), option II: control variates tell a client how its gradients differ from those
 * of all clients, and its steps are corrected by that. A client's variate becomes the mean gradient of its last round,
 * read off how far its model went; momentum's extra distance is taken into account. Models are averaged by examples,
 * as everywhere here, and variates with equal weights, as in the paper.
 */
struct ScaffoldOptions {
  double server_rate = 1;
  MomentumChoice momentum_reset = MomentumChoice::inherit;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("server_rate", self.server_rate, above(0), "how far the server moves to the clients' mean; 1 is all the way");
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the momentum buffer restarts; inherit takes [training]'s");
  }
  void check(const ScaffoldOptions&, Problems&, const std::string&) const {}
};

[[nodiscard]] std::unique_ptr<Algorithm> make_scaffold(const ScaffoldOptions& options);

}  // namespace feroma
