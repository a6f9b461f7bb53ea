#pragma once

#include <memory>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/averaging.h"
#include "feroma/algorithms/local_training.h"

namespace feroma {

/// FedAdam and FedYogi (Reddi et al., 2021): the server takes the clients' mean change for a gradient and follows it
/// with an adaptive optimiser. Clients train as in FedAvg. Their change is the plain mean of the paper's algorithm; its
/// experiments weigh by examples on most data sets.
struct AdaptiveServerOptions {
  static constexpr bool kKeepsMomentum = true;
  double server_rate = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double tau = 0.001;
  MomentumChoice momentum_reset = MomentumChoice::inherit;
  Averaging averaging = Averaging::uniform;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("server_rate", self.server_rate, above(0), "learning rate of the server");
    visit("beta1", self.beta1, between(0, 0.9999), "how much of its mean change the server remembers");
    visit("beta2", self.beta2, between(0, 0.9999), "how much of its mean squared change the server remembers");
    visit("tau", self.tau, above(0), "keeps small changes small: the larger, the less adaptive");
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the clients' momentum buffer restarts; inherit takes [training]'s, never keeps it");
    visit("averaging", self.averaging, anything(),
          "of the clients' changes: uniform (the paper's algorithm), or by examples");
  }
  void check(const AdaptiveServerOptions&, Problems&, const std::string&) const {}
};

/// FedAvgM (Hsu et al., 2019): FedAvg with momentum on the server; changes weigh by examples, as in its paper.
struct ServerMomentumOptions {
  static constexpr bool kKeepsMomentum = true;
  double server_rate = 1;
  double beta = 0.7;
  MomentumChoice momentum_reset = MomentumChoice::inherit;
  Averaging averaging = Averaging::examples;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("server_rate", self.server_rate, above(0), "learning rate of the server");
    visit("beta", self.beta, between(0, 0.9999), "momentum of the server; 0 gives FedAvg at server_rate 1");
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the clients' momentum buffer restarts; inherit takes [training]'s, never keeps it");
    visit("averaging", self.averaging, anything(), "of the clients' changes: by examples (the paper), or uniform");
  }
  void check(const ServerMomentumOptions&, Problems&, const std::string&) const {}
};

[[nodiscard]] std::unique_ptr<Algorithm> make_fedadam(const AdaptiveServerOptions& options);
[[nodiscard]] std::unique_ptr<Algorithm> make_fedyogi(const AdaptiveServerOptions& options);
[[nodiscard]] std::unique_ptr<Algorithm> make_fedavgm(const ServerMomentumOptions& options);

}  // namespace feroma
