#pragma once

#include <array>
#include <memory>

#include "feroma/algorithms/algorithm.h"
#include "feroma/core/options.h"

namespace feroma {

/// What a client does with its personal model.
enum class PFedMeVariant {
  moreau,      ///< the paper: the shared model descends the Moreau envelopes of the clients' losses
  prox_local,  ///< LINs-lab/FedRC's code: epochs with a pull to the shared model, which is the personal models' mean
};
constexpr auto enum_names(PFedMeVariant) {
  using enum PFedMeVariant;
  return std::array<std::pair<PFedMeVariant, std::string_view>, 2>{{{moreau, "moreau"}, {prox_local, "prox_local"}}};
}

/// Where a client's personal model starts in a round.
enum class PersonalStart {
  received,  ///< the authors' code: at the shared model as it was sent
  kept,      ///< where the last round that the client took part in left it
};
constexpr auto enum_names(PersonalStart) {
  using enum PersonalStart;
  return std::array<std::pair<PersonalStart, std::string_view>, 2>{{{received, "received"}, {kept, "kept"}}};
}

/**
 * pFedMe (Dinh et al., 2020): every client keeps a personal model near a shared one. Steps are plain SGD. A minibatch
 * moves the pair by about eta times the gradient, so a small eta leaves both where they began. The paper trains all
 * clients in each round and averages a sample of them; here who is not sampled does nothing, and is served by the
 * personal model of the last round that it took part in.
 */
struct PFedMeOptions {
  PFedMeVariant variant = PFedMeVariant::moreau;
  double lambda = 5;
  double personal_rate = 0.05;
  double eta = 0.15;
  double beta = 1;
  double weight_decay = 0;
  int inner_steps = 5;
  PersonalStart personal_start = PersonalStart::received;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("variant", self.variant, anything(), "moreau is the paper's method, prox_local the code of LINs-lab/FedRC");
    visit("lambda", self.lambda, at_least(0), "how strongly a personal model is pulled to the shared one");
    visit("personal_rate", self.personal_rate, above(0), "learning rate of the personal model");
    visit("eta", self.eta, above(0), "learning rate of the client's shared model; moreau only");
    visit("beta", self.beta, between(0, 2), "how far the server moves to the clients' mean; moreau only");
    visit("weight_decay", self.weight_decay, at_least(0), "weight decay of the personal model's steps");
    visit("inner_steps", self.inner_steps, at_least(1), "personal steps on each minibatch; moreau only");
    visit("personal_start", self.personal_start, anything(),
          "where a round's personal model starts: at the received shared one (the paper), or where it was kept "
          "(LINs-lab/FedRC)");
  }
  void check(const PFedMeOptions& preset, Problems& problems, const std::string& where) const;
};

[[nodiscard]] std::unique_ptr<Algorithm> make_pfedme(const PFedMeOptions& options);

}  // namespace feroma
