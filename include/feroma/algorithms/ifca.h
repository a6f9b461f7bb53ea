#pragma once

#include <memory>

#include "feroma/algorithms/components.h"
#include "feroma/algorithms/local_training.h"

namespace feroma {

/// IFCA (Ghosh et al., 2020): every client trains that one of several models which fits its data best.
struct IfcaOptions {
  static constexpr bool kKeepsMomentum = true;
  int clusters = 3;
  EmptyCluster empty = EmptyCluster::keep;
  MomentumChoice momentum_reset = MomentumChoice::inherit;
  double learning_rate = 0;
  Averaging averaging = Averaging::uniform;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("clusters", self.clusters, between(1, 64), "models on the server; 1 gives FedAvg");
    visit("empty", self.empty, anything(), "a model nobody chose: keep it (the paper), or zero it (public code)");
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the momentum buffer restarts; inherit takes [training]'s, never keeps it (public code)");
    visit("learning_rate", self.learning_rate, at_least(0),
          "of local training: a model moves only as far as those who chose it; 0 takes [training]'s");
    visit("averaging", self.averaging, anything(),
          "of those who chose a model: uniform (the paper), or by examples (public code)");
  }
  void check(const IfcaOptions& preset, Problems& problems, const std::string& where) const;
};

[[nodiscard]] std::unique_ptr<Algorithm> make_ifca(const IfcaOptions& options);

}  // namespace feroma
