#pragma once

#include <memory>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/local_training.h"
#include "feroma/mapping/linkage.h"

namespace feroma {

/// How the pool of models begins, and what becomes of clients that drift.
enum class FedDriftVariant {
  F,      ///< every client begins with a model of its own; models merge
  C,      ///< all begin with one model; each that drifts gets a new one; models merge
  eager,  ///< all begin with one model; those that drift together share a new one; nothing merges
};
constexpr auto enum_names(FedDriftVariant) {
  using enum FedDriftVariant;
  return std::array<std::pair<FedDriftVariant, std::string_view>, 3>{{{F, "F"}, {C, "C"}, {eager, "eager"}}};
}

/// What tells drift: a fall of accuracy as in the authors' code, or a rise of the loss as in their paper.
enum class FedDriftMeasure { accuracy, loss };
constexpr auto enum_names(FedDriftMeasure) {
  using enum FedDriftMeasure;
  return std::array<std::pair<FedDriftMeasure, std::string_view>, 2>{{{accuracy, "accuracy"}, {loss, "loss"}}};
}

/// What becomes of a model that is nobody's newest, though clients have windows of it.
enum class IdleModels {
  rest,   ///< the authors' code: nobody trains it, and it costs nothing until somebody takes it up again
  train,  ///< clients go on training it on those windows
};
constexpr auto enum_names(IdleModels) {
  using enum IdleModels;
  return std::array<std::pair<IdleModels, std::string_view>, 2>{{{rest, "rest"}, {train, "train"}}};
}

/// What a client is given that comes with new data while a time step is under way.
enum class Latecomers {
  tested,  ///< the drift test, as those who were there when the step began: it may get a new model
  placed,  ///< the best model there is
};
constexpr auto enum_names(Latecomers) {
  using enum Latecomers;
  return std::array<std::pair<Latecomers, std::string_view>, 2>{{{tested, "tested"}, {placed, "placed"}}};
}

/**
 * FedDrift (Jothimurugesan et al., 2023): a pool of models that grows where clients' data drift and shrinks where
 * models turn out alike. A time step begins with the round in which clients that took part before reach the next data
 * window; who comes within a step is tested for drift as well, and nothing merges then. Clients keep their past windows
 * and go on training the models these belong to, as long as these are somebody's newest.
 *
 * Everything happens where a time step begins, so with one data window it is what it begins as: variant F is local
 * training, to the bit, and the others are FedAvg.
 *
 * Models that have hardly learned do as badly on all data, so they look alike and merge. The authors train 200 rounds a
 * step and never see that; where a step has a few rounds, `merge_needs` lets models grow until they can be told apart.
 */
struct FedDriftOptions {
  FedDriftVariant variant = FedDriftVariant::F;
  FedDriftMeasure measure = FedDriftMeasure::accuracy;
  double delta = 0.1;
  double merge_delta = 0;
  double merge_needs = 0.1;
  Linkage linkage = Linkage::complete;
  int isolation = 1;
  int pool = 0;
  int score_batches = 21;
  int local_steps = 0;
  MomentumChoice momentum_reset = MomentumChoice::inherit;
  IdleModels idle_models = IdleModels::rest;
  Latecomers latecomers = Latecomers::tested;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("variant", self.variant, anything(),
          "F: a model for every client at first; C: one for all; eager: no merging");
    visit("measure", self.measure, anything(), "what tells drift and unlike models apart");
    visit("delta", self.delta, at_least(0), "a client has drifted where the best model does so much worse than before");
    visit("merge_delta", self.merge_delta, at_least(0),
          "models merge where each does at most so much worse on the other's data; 0 takes delta");
    visit("merge_needs", self.merge_needs, at_least(0),
          "how much better than a guess by label frequencies a model must do on its own data to merge; 0: nothing");
    visit("linkage", self.linkage, anything(), "how the distance of groups of models is measured");
    visit("isolation", self.isolation, at_least(1), "time steps before a new model may be chosen by others or merge");
    visit("pool", self.pool, at_least(0), "most models at a time; 0 takes the number of clients");
    visit("score_batches", self.score_batches, at_least(0),
          "most batches of a window that models are scored on; 0: all");
    visit("local_steps", self.local_steps, at_least(0),
          "minibatches that a model is trained on in a round, as in the authors' code; 0: [training]'s epochs");
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the momentum buffer restarts; inherit takes [training]'s");
    visit("idle_models", self.idle_models, anything(),
          "models that are nobody's newest rest (the authors' code), or are trained on the windows that clients have "
          "of them");
    visit("latecomers", self.latecomers, anything(),
          "who comes with new data within a time step is tested for drift, or just placed with the best model");
  }
  void check(const FedDriftOptions& defaults, Problems& problems, const std::string& where) const;
};

[[nodiscard]] std::unique_ptr<Algorithm> make_feddrift(const FedDriftOptions& options);

}  // namespace feroma
