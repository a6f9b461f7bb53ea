#pragma once

#include <memory>
#include <span>
#include <vector>

#include "algorithms/channel_affine.h"
#include "algorithms/domain.h"
#include "feroma/algorithms/cola.h"
#include "feroma/core/rng.h"

namespace feroma {

/// What was learned on one domain: the channels' factors and offsets, and what the domain's data look like.
struct DomainVector {
  std::vector<float> values;
  DomainStatistics statistics;

  [[nodiscard]] std::int64_t bytes() const;
};

/// The source, which stands for the data of all domains together, and behind it the vectors, as followers mix them.
[[nodiscard]] std::shared_ptr<const std::vector<DomainVector>> with_source(const ChannelAffine& channels,
                                                                           std::span<const DomainVector> vectors);

/// One weighted sum of domain vectors around the source, and a client's own change to it:
/// source + sum_i softmax(scale * weights)_i * (vector_i - source) + offset.
class VectorMixture {
 public:
  explicit VectorMixture(const ChannelAffine& channels);

  [[nodiscard]] std::size_t size() const { return vectors_.size(); }
  [[nodiscard]] std::vector<float> values() const;
  [[nodiscard]] std::vector<double> shares() const;
  /// Takes a vector in; the offset changes so that values() does not.
  void add(std::vector<float> vector, double weight);
  /// Forgets the vector of the least weight, never the source; values() stays.
  void evict();
  /// The weight for a vector that is the present values: as large as the largest, more where the offset has grown.
  [[nodiscard]] double weight_of_own() const;
  /// One step down `slope`, the objective's in values(). The weights stay while the source is alone.
  void step(std::span<const float> slope, const ColaOptions& options);

 private:
  void keep_values(const std::vector<float>& values);
  [[nodiscard]] std::vector<double> mixed() const;
  void step_weights(std::span<const float> slope, const ColaOptions& options);

  const ChannelAffine* channels_;
  std::vector<std::vector<float>> vectors_;  ///< the source comes first
  std::vector<double> weights_;
  double scale_ = 1;
  std::vector<float> offset_;
  std::vector<float> velocity_;
};

/// Which samples teach, and how much: confident ones whose prediction differs from what is predicted anyway (ETA).
class SampleChoice {
 public:
  SampleChoice(double entropy_margin, double redundancy_margin)
      : entropy_margin_(entropy_margin), redundancy_margin_(redundancy_margin) {}

  /// Weights for the batch's entropy so that its mean over the batch is the mean over the samples that teach; all zero
  /// where none does. Keeps a running mean of their predictions.
  [[nodiscard]] std::vector<float> weights(std::span<const float> probabilities, std::size_t classes);

 private:
  double entropy_margin_;
  double redundancy_margin_;
  std::vector<double> mean_;
};

/// A client that adapts: predicts a batch and takes one step of entropy minimisation on it.
class PrincipalAgent {
 public:
  /// Borrows `channels` and `options`, which outlive it.
  PrincipalAgent(ParametersPtr start, const ChannelAffine& channels, const ColaOptions& options, Rng rng);

  /// Predictions for the batch, made before it is learned from or, if the options say so, after.
  [[nodiscard]] std::vector<float> step(Trainer& trainer, Stem& stem, const View& batch, bool counts);
  /// What it learned since it was last asked, and where it is now.
  [[nodiscard]] std::vector<DomainVector> publish();
  void receive(const DomainVector& vector);
  [[nodiscard]] const VectorMixture& mixture() const { return mixture_; }

 private:
  void notice_shift(const DomainStatistics& batch);
  void take(std::vector<float> values, double weight);

  ParametersPtr start_;
  const ChannelAffine& channels_;
  const ColaOptions& options_;
  Rng rng_;
  VectorMixture mixture_;
  SampleChoice choice_;
  DomainStatistics statistics_;
  std::vector<DomainVector> unpublished_;
};

/// Whether a batch of a client's stream is large enough to say what the data look like.
[[nodiscard]] bool counts_for_statistics(const ColaOptions& options, const View& batch, const View& all);

/// Weights of domain vectors for data that look like `statistics`: softmax of 1 / ((distance + 1e-4) * temperature).
[[nodiscard]] std::vector<double> follower_weights(std::span<const DomainVector> vectors,
                                                   const DomainStatistics& statistics, double temperature);

/// Predicts without gradients by mixing vectors for what each batch looks like; vectors[0] is the source. Shared,
/// because all followers of a community mix the same vectors.
[[nodiscard]] std::unique_ptr<Predictor> make_follower(const ModelSpec& model, ParametersPtr start,
                                                       std::shared_ptr<const std::vector<DomainVector>> vectors,
                                                       const ColaOptions& options);

}  // namespace feroma
