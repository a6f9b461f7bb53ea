#pragma once

#include <memory>
#include <span>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/on_top.h"

namespace feroma {

/// Who predicts: clients while they adapt, or afterwards without gradients, from what all of them learned.
enum class ColaRole { principal, follower };
constexpr auto enum_names(ColaRole) {
  using enum ColaRole;
  return std::array<std::pair<ColaRole, std::string_view>, 2>{{{principal, "principal"}, {follower, "follower"}}};
}

/// Whether a principal's predictions for a batch are those from before it learned from it, or from after.
enum class ColaPrediction { before, after };
constexpr auto enum_names(ColaPrediction) {
  using enum ColaPrediction;
  return std::array<std::pair<ColaPrediction, std::string_view>, 2>{{{before, "before"}, {after, "after"}}};
}

/// Whose vectors a test client is served with: those of test clients, learned without labels while they are tested, or
/// those of training clients, learned on their labelled samples in a round after the last.
enum class ColaVectors { test, training };
constexpr auto enum_names(ColaVectors) {
  using enum ColaVectors;
  return std::array<std::pair<ColaVectors, std::string_view>, 2>{{{test, "test"}, {training, "training"}}};
}

/// Which batches a follower's statistics are of when it predicts one.
enum class ColaStatistics { current, previous };
constexpr auto enum_names(ColaStatistics) {
  using enum ColaStatistics;
  return std::array<std::pair<ColaStatistics, std::string_view>, 2>{{{current, "current"}, {previous, "previous"}}};
}

/// CoLA (Chen et al., NeurIPS 2024): test clients adapt a factor and an offset per channel and share what they learned
/// as domain vectors, which others weigh by how alike their data look. The models themselves are FedAvg's (or
/// Feroma's).
struct ColaOptions {
  StartFrom start = StartFrom::fedavg;
  MomentumChoice momentum_reset = MomentumChoice::inherit;
  ColaVectors vectors_of = ColaVectors::test;
  int vector_epochs = 5;
  double vector_learning_rate = 0.05;
  ColaRole role = ColaRole::principal;
  ColaPrediction predict_when = ColaPrediction::before;
  ColaStatistics statistics = ColaStatistics::current;
  int batch_size = 64;
  int smallest_batch = 64;
  int exchange_batches = 100;
  double shift_threshold = 0.1;
  double statistics_decay = 0.8;
  double offset_learning_rate = 0.001;
  double offset_momentum = 0.9;
  double weight_learning_rate = 0.1;
  double weight_decay = 0.1;
  double entropy_margin = 0.4;
  double redundancy_margin = 0.4;
  double temperature = 5;
  int max_vectors = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit);
  void check(const ColaOptions& preset, Problems& problems, const std::string& where) const;
};

[[nodiscard]] std::unique_ptr<Algorithm> make_cola(const ColaOptions& options);
/// The same with the vectors of training clients.
[[nodiscard]] std::unique_ptr<Algorithm> make_taught_cola(const ColaOptions& options);

/// Lets clients that start from these models (one each, all of one kind) adapt side by side, batch by batch in the
/// given order, and returns what serves each of them.
[[nodiscard]] std::vector<std::unique_ptr<Predictor>> adapt_together(const ModelSpec& model,
                                                                     std::span<const ParametersPtr> starts,
                                                                     std::span<TestContext> clients,
                                                                     const ColaOptions& options);

template <class Self, class Visit>
void ColaOptions::fields(Self& self, Visit&& visit) {
  visit("start", self.start, anything(), "whose model a test client starts from; fedavg is the published method");
  visit("momentum_reset", self.momentum_reset, anything(),
        "when the momentum buffer restarts; inherit takes [training]'s");
  visit(
      "vectors_of", self.vectors_of, anything(),
      "who learns vectors: test clients, without labels (the authors'), or training clients, on their labelled samples "
      "in a round after the last; test clients then follow");
  visit("vector_epochs", self.vector_epochs, at_least(0),
        "passes of a training client over its samples for its vector (vectors_of training)");
  visit("vector_learning_rate", self.vector_learning_rate, at_least(0),
        "step size in them (vectors_of training); their momentum is offset_momentum");
  visit(
      "role", self.role, anything(),
      "principal: predict batch by batch while adapting, as the authors' principal agents; follower: afterwards, from "
      "the vectors of everybody's whole test stream");
  visit("predict_when", self.predict_when, anything(),
        "a principal predicts a batch before it learns from it, as in the public code, or after");
  visit("statistics", self.statistics, anything(),
        "a follower weighs vectors by statistics up to the batch it predicts, or up to the one before as public code");
  visit("batch_size", self.batch_size, at_least(1), "test samples that are adapted to together");
  visit("smallest_batch", self.smallest_batch, at_least(1),
        "smaller batches leave the statistics alone, unless a client has no larger one");
  visit("exchange_batches", self.exchange_batches, at_least(1), "clients share vectors after so many batches");
  visit("shift_threshold", self.shift_threshold, at_least(0),
        "a batch farther than this from the statistics so far begins a new domain");
  visit("statistics_decay", self.statistics_decay, between(0, 1), "share of the old statistics in the moving average");
  visit("offset_learning_rate", self.offset_learning_rate, at_least(0), "step size of the channels' own changes");
  visit("offset_momentum", self.offset_momentum, between(0, 1), "momentum of the channels' own changes");
  visit("weight_learning_rate", self.weight_learning_rate, at_least(0), "step size of the vectors' weights");
  visit("weight_decay", self.weight_decay, at_least(0), "decay of the vectors' weights");
  visit("entropy_margin", self.entropy_margin, between(0, 1),
        "samples whose entropy is above this share of the largest teach nothing");
  visit("redundancy_margin", self.redundancy_margin, between(0, 1.01),
        "samples predicted this much like the mean prediction (cosine) teach nothing");
  visit("temperature", self.temperature, above(0), "follower: weights are softmax of 1 / (distance * temperature)");
  visit("max_vectors", self.max_vectors, at_least(0), "vectors a client keeps at most; 0 keeps all");
}

}  // namespace feroma
