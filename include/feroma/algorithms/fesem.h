#pragma once

#include <memory>

#include "feroma/algorithms/components.h"
#include "feroma/algorithms/local_training.h"

namespace feroma {

/// How far a client's model is from a centre.
enum class CentreDistance {
  squared,       ///< squared Euclidean over everything that is trained
  tensor_norms,  ///< Euclidean norms summed up tensor by tensor, buffers included
};
constexpr auto enum_names(CentreDistance) {
  using enum CentreDistance;
  return std::array<std::pair<CentreDistance, std::string_view>, 2>{
      {{squared, "squared"}, {tensor_norms, "tensor_norms"}}};
}

/// What a client that changes its cluster brings to the new one's mean.
enum class MovedClient {
  trained,    ///< the model it has just trained
  untrained,  ///< the new centre as it was; its training is lost
};
constexpr auto enum_names(MovedClient) {
  using enum MovedClient;
  return std::array<std::pair<MovedClient, std::string_view>, 2>{{{trained, "trained"}, {untrained, "untrained"}}};
}

/// What a client that is in no cluster yet trains.
enum class FirstRound {
  best,  ///< the centre that fits its data best
  all,   ///< every centre; it keeps the one that fits best then
};
constexpr auto enum_names(FirstRound) {
  using enum FirstRound;
  return std::array<std::pair<FirstRound, std::string_view>, 2>{{{best, "best"}, {all, "all"}}};
}

/// Where the centres come from.
enum class CentreStart {
  groups,  ///< all are the run's initial model; who answers first is dealt out into random groups
  apart,   ///< each has an initialisation of its own
};
constexpr auto enum_names(CentreStart) {
  using enum CentreStart;
  return std::array<std::pair<CentreStart, std::string_view>, 2>{{{groups, "groups"}, {apart, "apart"}}};
}

/**
 * FeSEM (Xie et al., 2022): k-means over the clients' models, one step a round. In the first round everybody trains one
 * model, and the centres are the means of random groups, as in the authors' code. Centres of initialisations of their
 * own are farther from one another than training takes anybody, so that clients stay where they began.
 */
struct FesemOptions {
  static constexpr bool kKeepsMomentum = true;
  int clusters = 3;
  double proximal = 0;
  CentreDistance distance = CentreDistance::squared;
  MovedClient moved = MovedClient::trained;
  EmptyCluster empty = EmptyCluster::keep;
  FirstRound first_round = FirstRound::best;
  MomentumChoice momentum_reset = MomentumChoice::inherit;
  double learning_rate = 0;
  CentreStart centre_start = CentreStart::groups;
  Averaging averaging = Averaging::uniform;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("clusters", self.clusters, between(1, 64), "centres on the server; 1 gives FedAvg");
    visit("proximal", self.proximal, at_least(0),
          "weight of the squared distance to the centre in the local loss; 0 is none");
    visit("distance", self.distance, anything(),
          "to the centres: squared (the paper), or tensor_norms, summed up tensor by tensor (public code)");
    visit("moved", self.moved, anything(),
          "a client that changes its cluster brings its trained model (the paper), or the untrained new centre "
          "(public code)");
    visit("empty", self.empty, anything(), "a centre nobody is near: keep it (the paper), or zero it (public code)");
    visit("first_round", self.first_round, anything(),
          "a client's first round, where centres differ: it trains the best one, or all and keeps the best then "
          "(public code)");
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the momentum buffer restarts; inherit takes [training]'s, never keeps it (public code)");
    visit("learning_rate", self.learning_rate, at_least(0),
          "of local training: a centre moves only as far as those near it; 0 takes [training]'s");
    visit(
        "centre_start", self.centre_start, anything(),
        "centres are the means of random groups that trained one model, or begin apart, each by itself (public code)");
    visit("averaging", self.averaging, anything(),
          "of those near a centre: uniform (the paper), or by examples (public code)");
  }
  void check(const FesemOptions& preset, Problems& problems, const std::string& where) const;
};

[[nodiscard]] std::unique_ptr<Algorithm> make_fesem(const FesemOptions& options);

}  // namespace feroma
