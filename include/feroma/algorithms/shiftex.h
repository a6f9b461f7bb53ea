#pragma once

#include <array>
#include <memory>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/local_training.h"

namespace feroma {

/// How a client that takes no part in training gets its expert.
enum class ExpertRule {
  signature,    ///< the expert whose past data its unlabelled embeddings resemble most, as in training
  expectation,  ///< all of them, by how many clients use each
};
constexpr auto enum_names(ExpertRule) {
  using enum ExpertRule;
  return std::array<std::pair<ExpertRule, std::string_view>, 2>{
      {{signature, "signature"}, {expectation, "expectation"}}};
}

/**
 * ShiftEx (Bhope et al., 2025), a reconstruction: the paper's idea with thresholds, kernel and optimiser of our own. A
 * client whose data window looks unlike the one before sends some embeddings; clients that look alike are given the
 * expert whose past data they resemble, or a new one. Embeddings leave the client, which no other method here does.
 */
struct ShiftExOptions {
  int encoder_round = 1;
  int samples = 256;
  int permutations = 100;
  double significance = 0.05;
  double label_threshold = 0.1;
  double create_cost = 2;
  double label_weight = 0.5;
  int experts = 16;
  double merge_cosine = 0.99;
  MomentumChoice momentum_reset = MomentumChoice::inherit;
  ExpertRule served_by = ExpertRule::signature;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("encoder_round", self.encoder_round, at_least(1), "the round whose model embeds samples from then on");
    visit("samples", self.samples, between(2, 4096), "most embeddings of a client and of an expert's memory");
    visit("permutations", self.permutations, at_least(1), "of the test for a shift of inputs");
    visit("significance", self.significance, between(0, 1), "of the test: how often it may see a shift where none is");
    visit("label_threshold", self.label_threshold, at_least(0), "Jensen-Shannon divergence that is a shift of labels");
    visit("create_cost", self.create_cost, at_least(0),
          "cost of a new expert, as a multiple of the clients' median threshold of the test");
    visit("label_weight", self.label_weight, at_least(0), "weight of unlike labels in an expert's cost");
    visit("experts", self.experts, at_least(1), "most experts at a time");
    visit("merge_cosine", self.merge_cosine, between(0, 1),
          "experts with memories alike merge where their weights have a larger cosine");
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the momentum buffer restarts; inherit takes [training]'s");
    visit("served_by", self.served_by, anything(),
          "whose expert serves a test client: that of the data which its own look like, or the mean prediction of all");
  }
  void check(const ShiftExOptions&, Problems&, const std::string&) const {}
};

[[nodiscard]] std::unique_ptr<Algorithm> make_shiftex(const ShiftExOptions& options);

}  // namespace feroma
