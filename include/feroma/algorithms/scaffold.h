#pragma once

#include <array>
#include <memory>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/averaging.h"
#include "feroma/algorithms/local_training.h"

namespace feroma {

/// Over whom the server's control variate is the mean.
enum class VariateMean {
  all,       ///< the paper: everybody, with 0 for those who have not answered yet
  answered,  ///< those who ever answered
};
constexpr auto enum_names(VariateMean) {
  using enum VariateMean;
  return std::array<std::pair<VariateMean, std::string_view>, 2>{{{all, "all"}, {answered, "answered"}}};
}

/**
 * SCAFFOLD (Karimireddy et al., 2020), option II: control variates tell a client how its gradients differ from those
 * of all clients, and its steps are corrected by that. A client's variate becomes the mean gradient of its last round,
 * read off how far its model went; momentum's extra distance is taken into account. Models and variates are averaged
 * with equal weights, as in the paper; where |S| of N clients answer, the server's variate goes |S|/N of the way.
 */
struct ScaffoldOptions {
  double server_rate = 1;
  MomentumChoice momentum_reset = MomentumChoice::inherit;
  VariateMean variate_mean = VariateMean::all;
  Averaging averaging = Averaging::uniform;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("server_rate", self.server_rate, above(0), "how far the server moves to the clients' mean; 1 is all the way");
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the momentum buffer restarts; inherit takes [training]'s");
    visit("variate_mean", self.variate_mean, anything(),
          "the server's variate is the mean over all clients (the paper), or over those who ever answered");
    visit("averaging", self.averaging, anything(), "of the clients' models: uniform (the paper), or by examples");
  }
  void check(const ScaffoldOptions&, Problems&, const std::string&) const {}
};

[[nodiscard]] std::unique_ptr<Algorithm> make_scaffold(const ScaffoldOptions& options);

}  // namespace feroma
