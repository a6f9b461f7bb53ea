#include "feroma/partition/label_skew.h"

#include <algorithm>
#include <numeric>

#include "feroma/core/portable_math.h"
#include "feroma/partition/ranking.h"

namespace feroma {
namespace {

/// Where classes that are left are hardly ever taken, so many scans are worth a try; the rest is taken as it comes.
constexpr int kMaxScans = 50;
/// ANDA counts labels in at least ten bins; an empty bin takes part in the softmax.
constexpr std::size_t kBins = 10;

/// What is left of a split, in stored order.
class Remaining {
 public:
  explicit Remaining(const Samples& samples) : labels_(samples.labels), left_(samples.count()) {
    std::iota(left_.begin(), left_.end(), 0U);
  }

  [[nodiscard]] std::vector<std::size_t> counts(std::size_t classes) const {
    std::vector<std::size_t> counts(std::max(classes, kBins), 0);
    for (const std::uint32_t source : left_) {
      ++counts[label(source)];
    }
    return counts;
  }

  /// Scans again and again, accepting each sample by its class; what was accepted is gone afterwards.
  std::vector<std::uint32_t> take(std::size_t wanted, std::span<const double> accept, Rng rng) {
    std::vector<std::uint32_t> taken;
    std::vector<bool> is_taken(labels_.size(), false);
    const auto add = [&](std::uint32_t source) {
      taken.push_back(source);
      is_taken[source] = true;
    };
    double expected = 0;
    for (const std::uint32_t source : left_) {
      expected += accept[label(source)];
    }
    const int scans = expected * kMaxScans < static_cast<double>(wanted) ? 0 : kMaxScans;
    for (int scan = 0; scan < scans && taken.size() < wanted; ++scan) {
      for (std::size_t i = 0; i < left_.size() && taken.size() < wanted; ++i) {
        if (rng.bernoulli(accept[label(left_[i])])) {
          add(left_[i]);
        }
      }
    }
    for (std::size_t i = 0; i < left_.size() && taken.size() < wanted; ++i) {
      if (!is_taken[left_[i]]) {
        add(left_[i]);
      }
    }
    std::erase_if(left_, [&is_taken](std::uint32_t source) { return is_taken[source]; });
    return taken;
  }

 private:
  [[nodiscard]] std::size_t label(std::uint32_t source) const { return static_cast<std::size_t>(labels_[source]); }

  std::span<const std::int32_t> labels_;
  std::vector<std::uint32_t> left_;
};

/// `wanted` distinct samples in random order, a class taken in proportion to its weight.
std::vector<std::uint32_t> draw_ranked(const Samples& samples, std::size_t wanted,
                                       const std::vector<double>& weight_of_class, Rng rng) {
  std::vector<std::uint32_t> order = rng.permutation(samples.count());
  std::vector<std::uint32_t> taken;
  std::vector<std::uint32_t> passed;
  for (int scan = 0; scan < kMaxScans && taken.size() < wanted; ++scan) {
    passed.clear();
    for (const std::uint32_t source : order) {
      const double weight = weight_of_class[static_cast<std::size_t>(samples.labels[source])];
      (taken.size() < wanted && rng.bernoulli(weight) ? taken : passed).push_back(source);
    }
    order.swap(passed);
  }
  for (std::size_t i = 0; i < order.size() && taken.size() < wanted; ++i) {
    taken.push_back(order[i]);
  }
  return taken;
}

/// Weights relative to the most frequent class, which is always taken.
std::vector<double> class_weights(std::span<const std::uint32_t> order, std::span<const double> ranks) {
  std::vector<double> weights(order.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    weights[order[rank]] = ranks[rank] / ranks[0];
  }
  return weights;
}

}  // namespace

std::vector<double> acceptance(std::span<const std::size_t> counts, double exponent) {
  std::vector<double> logits;
  logits.reserve(counts.size());
  for (const std::size_t count : counts) {
    const double power = count == 0 ? 0 : portable_exp(exponent * portable_log(static_cast<double>(count)));
    logits.push_back(exponent == 0 ? 1 : power);
  }
  return softmax(logits);
}

SplitLists skewed_lists(const Dataset& dataset, const Sizes& sizes, const SkewParameters& parameters, const Rng& rng) {
  Remaining train(dataset.train);
  Remaining test(dataset.test);
  SplitLists lists;
  for (std::size_t k = 0; k < sizes.train.size(); ++k) {
    const double exponent = parameters.label_factor *
                            rng.derive("label_skew", k).uniform(parameters.label_skew.low, parameters.label_skew.high);
    const std::vector<double> accept = acceptance(train.counts(static_cast<std::size_t>(dataset.classes)), exponent);
    lists.train.push_back(train.take(sizes.train[k], accept, rng.derive("label_skew_train", k)));
    lists.test.push_back(test.take(sizes.test[k], accept, rng.derive("label_skew_test", k)));
  }
  return lists;
}

SplitLists ranked_lists(const Dataset& dataset, const Sizes& sizes, const SkewParameters& parameters,
                        TestOrder test_order, const Rng& rng) {
  const auto classes = static_cast<std::size_t>(dataset.classes);
  SplitLists lists;
  for (std::size_t k = 0; k < sizes.train.size(); ++k) {
    const double scale = rng.derive("label_skew", k).uniform(parameters.label_skew.low, parameters.label_skew.high);
    const std::vector<double> ranks = ranking(classes, scale);
    std::vector<std::uint32_t> order = rng.derive("label_order", k).permutation(classes);
    lists.train.push_back(
        draw_ranked(dataset.train, sizes.train[k], class_weights(order, ranks), rng.derive("label_skew_train", k)));
    if (test_order == TestOrder::reversed) {
      std::reverse(order.begin(), order.end());
    } else {
      order = rng.derive("test_label_order", k).permutation(classes);
    }
    lists.test.push_back(
        draw_ranked(dataset.test, sizes.test[k], class_weights(order, ranks), rng.derive("label_skew_test", k)));
  }
  return lists;
}

}  // namespace feroma
