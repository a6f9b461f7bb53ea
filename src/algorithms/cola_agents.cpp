#include "algorithms/cola_agents.h"

#include <algorithm>
#include <cmath>

#include "feroma/algorithms/test_time.h"
#include "feroma/core/entropy.h"
#include "feroma/core/error.h"
#include "feroma/engine/sgd.h"

namespace feroma {
namespace {

/// An offset this large on average, in one layer, is worth a share of its own in the mixture.
constexpr double kLargeOffset = 0.01;
constexpr double kLargestWeight = 10;
/// The scale multiplies every weight; at zero all vectors would count alike for good.
constexpr double kSmallestScale = 0.1;
/// Share of a batch in the running mean of predictions.
constexpr double kPredictionShare = 0.1;

std::vector<double> softmax_of(std::vector<double> values) {
  const double largest = *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (double& value : values) {
    value = portable_exp(value - largest);
    sum += value;
  }
  for (double& value : values) {
    value /= sum;
  }
  return values;
}

/// Adam's first step: the sign of the slope, unless it is next to nothing.
double sign_step(double slope) { return slope / (std::abs(slope) + 1e-8); }

double cosine_between(std::span<const float> row, std::span<const double> mean) {
  double dot = 0;
  double first = 0;
  double second = 0;
  for (std::size_t u = 0; u < row.size(); ++u) {
    const auto p = static_cast<double>(row[u]);
    dot += p * mean[u];
    first += p * p;
    second += mean[u] * mean[u];
  }
  return dot / std::sqrt(first * second);
}

class FollowerPredictor final : public Predictor {
 public:
  FollowerPredictor(const ModelSpec& model, ParametersPtr start,
                    std::shared_ptr<const std::vector<DomainVector>> vectors, const ColaOptions& options)
      : stem_(model),
        channels_(start->layout()),
        start_(std::move(start)),
        vectors_(std::move(vectors)),
        options_(options) {}

  std::vector<float> predict(Trainer& trainer, const View& view) override {
    DomainStatistics seen;
    std::vector<float> all;
    for (const View& batch : stream_of(view, options_.batch_size)) {
      DomainStatistics next = seen;
      if (counts_for_statistics(options_, batch, view)) {
        next = moving_average(seen, stem_.statistics(*start_, batch), options_.statistics_decay);
      }
      const DomainStatistics& known = options_.statistics == ColaStatistics::current ? next : seen;
      const std::vector<float> probabilities = trainer.probabilities(channels_.apply(*start_, mixed(known)), batch);
      all.insert(all.end(), probabilities.begin(), probabilities.end());
      seen = std::move(next);
    }
    return all;
  }
  [[nodiscard]] const ModelShares& sources() const override { return none_; }

 private:
  [[nodiscard]] std::vector<float> mixed(const DomainStatistics& statistics) const {
    const std::vector<float>& source = vectors_->front().values;
    if (statistics.empty()) {
      return source;
    }
    const std::vector<double> weights = follower_weights(*vectors_, statistics, options_.temperature);
    std::vector<float> values;
    for (std::size_t j = 0; j < source.size(); ++j) {
      auto value = static_cast<double>(source[j]);
      for (std::size_t i = 1; i < vectors_->size(); ++i) {
        value += weights[i] * (static_cast<double>((*vectors_)[i].values[j]) - static_cast<double>(source[j]));
      }
      values.push_back(static_cast<float>(value));
    }
    return values;
  }

  Stem stem_;
  ChannelAffine channels_;
  ParametersPtr start_;
  std::shared_ptr<const std::vector<DomainVector>> vectors_;
  ColaOptions options_;
  ModelShares none_;
};

}  // namespace

bool counts_for_statistics(const ColaOptions& options, const View& batch, const View& all) {
  const auto largest = std::min(static_cast<std::size_t>(options.batch_size), all.size());
  return batch.size() >= std::min(static_cast<std::size_t>(options.smallest_batch), largest);
}

std::int64_t DomainVector::bytes() const {
  const std::size_t numbers = values.size() + statistics.mean.size() + statistics.variance.size();
  return static_cast<std::int64_t>(numbers * sizeof(float));
}

std::shared_ptr<const std::vector<DomainVector>> with_source(const ChannelAffine& channels,
                                                             std::span<const DomainVector> vectors) {
  std::vector<DomainStatistics> domains;
  for (const DomainVector& vector : vectors) {
    domains.push_back(vector.statistics);
  }
  std::vector<DomainVector> all{{channels.identity(), pooled(domains)}};
  all.insert(all.end(), vectors.begin(), vectors.end());
  return std::make_shared<const std::vector<DomainVector>>(std::move(all));
}

VectorMixture::VectorMixture(const ChannelAffine& channels)
    : channels_(&channels),
      vectors_{channels.identity()},
      weights_{0.0},
      offset_(channels.size()),
      velocity_(channels.size()) {}

std::vector<double> VectorMixture::shares() const {
  std::vector<double> scaled;
  for (const double weight : weights_) {
    scaled.push_back(scale_ * weight);
  }
  return softmax_of(std::move(scaled));
}

std::vector<double> VectorMixture::mixed() const {
  const std::vector<double> share = shares();
  std::vector<double> sum(vectors_.front().begin(), vectors_.front().end());
  for (std::size_t i = 1; i < vectors_.size(); ++i) {
    for (std::size_t j = 0; j < sum.size(); ++j) {
      sum[j] += share[i] * (static_cast<double>(vectors_[i][j]) - static_cast<double>(vectors_[0][j]));
    }
  }
  return sum;
}

std::vector<float> VectorMixture::values() const {
  std::vector<float> values;
  const std::vector<double> sum = mixed();
  for (std::size_t j = 0; j < sum.size(); ++j) {
    values.push_back(static_cast<float>(sum[j] + static_cast<double>(offset_[j])));
  }
  return values;
}

void VectorMixture::keep_values(const std::vector<float>& values) {
  const std::vector<double> sum = mixed();
  for (std::size_t j = 0; j < sum.size(); ++j) {
    offset_[j] = static_cast<float>(static_cast<double>(values[j]) - sum[j]);
  }
}

void VectorMixture::add(std::vector<float> vector, double weight) {
  const std::vector<float> before = values();
  vectors_.push_back(std::move(vector));
  weights_.push_back(weight);
  keep_values(before);
}

void VectorMixture::evict() {
  if (vectors_.size() < 2) {
    return;
  }
  const std::vector<float> before = values();
  const auto least = std::min_element(weights_.begin() + 1, weights_.end());
  vectors_.erase(vectors_.begin() + (least - weights_.begin()));
  weights_.erase(least);
  keep_values(before);
}

double VectorMixture::weight_of_own() const {
  double largest = scale_ * weights_.front();
  double sum = 0;
  for (const double weight : weights_) {
    largest = std::max(largest, scale_ * weight);
    sum += portable_exp(scale_ * weight);
  }
  const double growth = channels_->largest_mean(offset_) / kLargeOffset;
  if (growth > 1) {
    largest = std::max(largest, portable_log(sum * (growth - 1)));
  }
  return std::clamp(largest / scale_, -kLargestWeight, kLargestWeight);
}

void VectorMixture::step(std::span<const float> slope, const ColaOptions& options) {
  if (vectors_.size() > 1) {
    step_weights(slope, options);
  }
  sgd_step(offset_, velocity_, slope, options.offset_learning_rate, options.offset_momentum);
}

void VectorMixture::step_weights(std::span<const float> slope, const ColaOptions& options) {
  const std::vector<double> share = shares();
  std::vector<double> along(vectors_.size());  // the slope in each share
  double mean = 0;
  for (std::size_t i = 0; i < vectors_.size(); ++i) {
    for (std::size_t j = 0; j < slope.size(); ++j) {
      along[i] +=
          static_cast<double>(slope[j]) * (static_cast<double>(vectors_[i][j]) - static_cast<double>(vectors_[0][j]));
    }
    mean += share[i] * along[i];
  }
  double scale_slope = 0;
  for (std::size_t i = 0; i < vectors_.size(); ++i) {
    const double scaled_slope = share[i] * (along[i] - mean);
    scale_slope += weights_[i] * scaled_slope;
    weights_[i] = weights_[i] * (1 - options.weight_learning_rate * options.weight_decay) -
                  options.weight_learning_rate * sign_step(scale_ * scaled_slope);
  }
  scale_ = std::max(kSmallestScale, scale_ - options.weight_learning_rate * sign_step(scale_slope));
}

std::vector<float> SampleChoice::weights(std::span<const float> probabilities, std::size_t classes) {
  const std::size_t samples = probabilities.size() / classes;
  const double limit = entropy_margin_ * portable_log(static_cast<double>(classes));
  std::vector<float> weights(samples);
  std::vector<double> batch_mean(classes);
  double kept = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    const std::span<const float> row = probabilities.subspan(i * classes, classes);
    const double entropy = entropy_of(row);
    if (entropy >= limit || (!mean_.empty() && std::abs(cosine_between(row, mean_)) >= redundancy_margin_)) {
      continue;
    }
    kept += 1;
    weights[i] = static_cast<float>(portable_exp(limit - entropy));
    for (std::size_t u = 0; u < classes; ++u) {
      batch_mean[u] += static_cast<double>(row[u]);
    }
  }
  if (kept == 0) {
    return weights;
  }
  for (float& weight : weights) {
    weight *= static_cast<float>(static_cast<double>(samples) / kept);
  }
  const double old_share = mean_.empty() ? 0 : 1 - kPredictionShare;
  mean_.resize(classes);
  for (std::size_t u = 0; u < classes; ++u) {
    mean_[u] = old_share * mean_[u] + (1 - old_share) * batch_mean[u] / kept;
  }
  return weights;
}

PrincipalAgent::PrincipalAgent(ParametersPtr start, const ChannelAffine& channels, const ColaOptions& options, Rng rng)
    : start_(std::move(start)),
      channels_(channels),
      options_(options),
      rng_(rng),
      mixture_(channels),
      choice_(options.entropy_margin, options.redundancy_margin) {}

std::vector<float> PrincipalAgent::step(Trainer& trainer, Stem& stem, const View& batch, bool counts) {
  if (counts) {
    notice_shift(stem.statistics(*start_, batch));
  }
  Parameters model = channels_.apply(*start_, mixture_.values());
  std::vector<float> probabilities = trainer.probabilities(model, batch);
  Batch inputs = unlabelled_batch(trainer, batch);
  inputs.weights = choice_.weights(probabilities, probabilities.size() / batch.size());
  const bool teaches = std::any_of(inputs.weights.begin(), inputs.weights.end(), [](float w) { return w > 0; });
  if (teaches) {
    Objective objective;
    objective.loss = Loss::entropy;
    objective.statistics = Statistics::running;
    std::vector<float> gradient(model.size());
    trainer.gradient(model, inputs, objective, gradient);
    mixture_.step(channels_.slope(*start_, gradient), options_);
  }
  return teaches && options_.predict_when == ColaPrediction::after
             ? trainer.probabilities(channels_.apply(*start_, mixture_.values()), batch)
             : probabilities;
}

void PrincipalAgent::notice_shift(const DomainStatistics& batch) {
  const bool shifted = !statistics_.empty() && domain_distance(statistics_, batch) > options_.shift_threshold;
  if (shifted) {
    unpublished_.push_back({mixture_.values(), statistics_});
    take(mixture_.values(), mixture_.weight_of_own());
    statistics_ = {};
  }
  statistics_ = moving_average(statistics_, batch, options_.statistics_decay);
}

void PrincipalAgent::take(std::vector<float> values, double weight) {
  mixture_.add(std::move(values), weight);
  if (options_.max_vectors > 0 && mixture_.size() > static_cast<std::size_t>(options_.max_vectors)) {
    mixture_.evict();
  }
}

std::vector<DomainVector> PrincipalAgent::publish() {
  std::vector<DomainVector> vectors = std::move(unpublished_);
  unpublished_.clear();
  if (!statistics_.empty()) {
    vectors.push_back({mixture_.values(), statistics_});
  }
  return vectors;
}

void PrincipalAgent::receive(const DomainVector& vector) { take(vector.values, rng_.normal()); }

std::vector<double> follower_weights(std::span<const DomainVector> vectors, const DomainStatistics& statistics,
                                     double temperature) {
  std::vector<double> weights;
  for (const DomainVector& vector : vectors) {
    weights.push_back(1 / ((domain_distance(statistics, vector.statistics) + 1e-4) * temperature));
  }
  return softmax_of(std::move(weights));
}

std::unique_ptr<Predictor> make_follower(const ModelSpec& model, ParametersPtr start,
                                         std::shared_ptr<const std::vector<DomainVector>> vectors,
                                         const ColaOptions& options) {
  return std::make_unique<FollowerPredictor>(model, std::move(start), std::move(vectors), options);
}

}  // namespace feroma
