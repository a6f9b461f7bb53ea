#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/local_training.h"

namespace feroma {

/// FedEM (Marfoq et al., 2021): every client is a mixture of a few shared models, and each sample trains them by how
/// well they explain it.
struct FedEmOptions {
  static constexpr bool kKeepsMomentum = true;
  int components = 3;
  MomentumChoice momentum_reset = MomentumChoice::inherit;
  double learning_rate = 0;
  int test_steps = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("components", self.components, between(1, 64), "models in the mixture; 1 gives FedAvg");
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the momentum buffer restarts; inherit takes [training]'s, never keeps it (public code)");
    visit("learning_rate", self.learning_rate, at_least(0),
          "of local training, whose loss is divided among the components; 0 takes [training]'s");
    visit("test_steps", self.test_steps, at_least(0),
          "E-steps by which a test client with a few labels finds its shares; 0: by its losses, as everywhere");
  }
  void check(const FedEmOptions& preset, Problems& problems, const std::string& where) const;
};

/// Whose labels count in the components' label priors.
enum class AbsentLabels {
  forget,  ///< those of the clients that answered in the round
  keep,    ///< also what absent clients said last, which is stale where data drift
};
constexpr auto enum_names(AbsentLabels) {
  using enum AbsentLabels;
  return std::array<std::pair<AbsentLabels, std::string_view>, 2>{{{forget, "forget"}, {keep, "keep"}}};
}

/// The label priors of a test client's E-steps.
enum class TestPriors {
  learned,  ///< those of the training clients
  uniform,  ///< all alike, so that they say nothing
};
constexpr auto enum_names(TestPriors) {
  using enum TestPriors;
  return std::array<std::pair<TestPriors, std::string_view>, 2>{{{learned, "learned"}, {uniform, "uniform"}}};
}

/// FedRC (Guo et al., 2024): FedEM that takes away what a component gains merely by specialising on a label, so that
/// clients are told apart by their concepts and not by their label counts.
struct FedRcOptions {
  static constexpr bool kKeepsMomentum = true;
  int components = 3;
  AbsentLabels absent_labels = AbsentLabels::forget;
  MomentumChoice momentum_reset = MomentumChoice::inherit;
  double learning_rate = 0;
  int test_steps = 0;
  TestPriors test_priors = TestPriors::learned;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("components", self.components, between(1, 64), "models in the mixture; 1 gives FedAvg");
    visit("absent_labels", self.absent_labels, anything(),
          "label counts of clients that did not answer: forget them, or keep the last ones (public code)");
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the momentum buffer restarts; inherit takes [training]'s, never keeps it (public code)");
    visit("learning_rate", self.learning_rate, at_least(0),
          "of local training, whose loss is divided among the components; 0 takes [training]'s");
    visit("test_steps", self.test_steps, at_least(0),
          "E-steps by which a test client with a few labels finds its shares; 0: by its losses, as everywhere");
    visit("test_priors", self.test_priors, anything(),
          "label priors in these E-steps: those of training, or uniform ones, which is FedEM's (public code)");
  }
  void check(const FedRcOptions& preset, Problems& problems, const std::string& where) const;
};

[[nodiscard]] std::unique_ptr<Algorithm> make_fedem(const FedEmOptions& options);
[[nodiscard]] std::unique_ptr<Algorithm> make_fedrc(const FedRcOptions& options);

}  // namespace feroma
