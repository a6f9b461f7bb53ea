#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "feroma/privacy/accountant.h"
#include "feroma/privacy/clip_bounds.h"
#include "feroma/privacy/noisy_moments.h"
#include "feroma/privacy/release.h"
#include "tests/privacy/seeded_entropy.h"

// The client's whole path, from records to what leaves it, run on neighbouring data sets again and again: whatever
// event one looks for, its probabilities must be within the promise. Such a test can refute a promise, never establish
// one.
namespace feroma {
namespace {

using test::SeededEntropy;

constexpr double kConfidence = 1e-6;

struct Promise {
  SumShape shape;
  double epsilon = 1;
  double delta = 0;
  double cost = 1;  ///< of one release
};

Promise pure_promise(int coordinates, int classes) { return {box_shape(coordinates, classes), 1, 0, 1}; }
Promise gaussian_promise(int coordinates, int classes) {
  return {{.coordinates = coordinates, .classes = classes}, 1, 1e-5, rho_of(1, 1e-5)};
}

struct Records {
  std::vector<float> rows;
  std::vector<RecordLabels> labels;
};

std::vector<std::int64_t> exact(const Promise& promise, const Records& records) {
  const auto width = static_cast<std::size_t>(promise.shape.coordinates);
  const ClipBounds bounds{std::vector<float>(width), std::vector<float>(width, 1.0F)};
  return sums_of(promise.shape, bounds, records.rows, records.labels);
}

/// Events: how far the output leans from one data set to the other, in steps; and being one of them exactly anywhere.
class Events {
 public:
  Events(const Promise& promise, std::vector<std::int64_t> a, std::vector<std::int64_t> b)
      : a_(std::move(a)), b_(std::move(b)), laplace_(promise.shape.clip == Clip::box) {
    const double noise = release_noise(promise.shape, Neighbours::add_remove, promise.cost);
    scale_ = laplace_ ? noise / std::sqrt(2.0) : noise;
  }

  [[nodiscard]] std::vector<int> of(const std::vector<std::int64_t>& output) const {
    double lean = 0;
    std::vector<int> events;
    for (std::size_t i = 0; i < output.size(); ++i) {
      const double from_a = static_cast<double>(output[i] - a_[i]) / scale_;
      const double from_b = static_cast<double>(output[i] - b_[i]) / scale_;
      lean += laplace_ ? std::abs(from_a) - std::abs(from_b) : (from_a * from_a - from_b * from_b) / 2;
      if (output[i] == a_[i] || output[i] == b_[i]) {
        events.push_back(1000 + 2 * static_cast<int>(i) + (output[i] == a_[i] ? 0 : 1));
      }
    }
    events.push_back(static_cast<int>(std::clamp(std::floor(lean * 16), -50.0, 49.0)));
    return events;
  }

 private:
  std::vector<std::int64_t> a_;
  std::vector<std::int64_t> b_;
  bool laplace_;
  double scale_;
};

std::map<int, double> frequencies(const Promise& promise, const std::vector<std::int64_t>& sums, const Events& events,
                                  int runs, EntropySource& entropy) {
  std::map<int, double> counts;
  for (int i = 0; i < runs; ++i) {
    for (const int event : events.of(release(promise.shape, Neighbours::add_remove, promise.cost, sums, entropy))) {
      counts[event] += 1;
    }
  }
  return counts;
}

/// A bound of a probability that was seen `hits` times in `runs` (Chernoff), above or below.
double bound_of(double hits, double runs, bool above) {
  const double seen = hits / runs;
  const auto divergence = [&](double p) {
    const double yes = seen > 0 ? seen * std::log(seen / p) : 0;
    const double no = seen < 1 ? (1 - seen) * std::log((1 - seen) / (1 - p)) : 0;
    return runs * (yes + no);
  };
  double inside = seen;
  double outside = above ? 1 : 0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (inside + outside) / 2;
    (divergence(middle) <= std::log(1 / kConfidence) ? inside : outside) = middle;
  }
  return outside;
}

/// The largest epsilon that some event shows for certain, in either direction.
double shown_epsilon(const Promise& promise, const Records& one, const Records& other, int runs, std::uint64_t seed) {
  SeededEntropy entropy(seed);
  const std::vector<std::int64_t> a = exact(promise, one);
  const std::vector<std::int64_t> b = exact(promise, other);
  const Events events(promise, a, b);
  std::map<int, double> of_a = frequencies(promise, a, events, runs, entropy);
  std::map<int, double> of_b = frequencies(promise, b, events, runs, entropy);
  double shown = 0;
  for (const auto& [event, hits] : std::map<int, double>(of_a)) {
    of_b[event] += 0;
  }
  for (const auto& [event, hits] : of_b) {
    const double in_a = of_a[event];
    for (const auto& [more, less] : {std::pair(in_a, hits), std::pair(hits, in_a)}) {
      const double least = bound_of(more, runs, /*above=*/false) - promise.delta;
      if (least > 0) {
        shown = std::max(shown, std::log(least / bound_of(less, runs, /*above=*/true)));
      }
    }
  }
  return shown;
}

/// The neighbours that are hardest to keep apart: nobody, and one record that reaches the bound.
double worst_pair(const Promise& promise, int runs, std::uint64_t seed) {
  return shown_epsilon(promise, {}, {{1.0F}, {{0}}}, runs, seed);
}

TEST(BlackBox, TheWorstPairKeepsItsPromiseAndUsesIt) {
  const double pure = worst_pair(pure_promise(1, 1), 100000, 1);
  EXPECT_LE(pure, 1);
  EXPECT_GE(pure, 0.8) << "noise beyond need costs accuracy";
  EXPECT_LE(worst_pair(gaussian_promise(1, 1), 100000, 2), 1);
}

TEST(BlackBoxSlow, TheWorstPairKeepsItsPromiseAndUsesIt) {
  const double pure = worst_pair(pure_promise(1, 1), 1000000, 3);
  EXPECT_LE(pure, 1);
  EXPECT_GE(pure, 0.95);
  EXPECT_LE(worst_pair(gaussian_promise(1, 1), 1000000, 4), 1);
}

/// Ten data sets spread over sizes and places, each with and without its last record.
void other_pairs(int runs) {
  Rng rng(5);
  for (int d = 0; d < 10; ++d) {
    Records all;
    const int size = 1 + 7 * d;
    for (int i = 0; i < 2 * size; ++i) {
      all.rows.push_back(static_cast<float>((d % 3 - 1) * 0.6 + 0.7 * rng.normal()));
    }
    for (int i = 0; i < size; ++i) {
      all.labels.push_back({static_cast<int>(rng.below(3))});
    }
    Records fewer = all;
    fewer.rows.resize(fewer.rows.size() - 2);
    fewer.labels.pop_back();
    for (const Promise& promise : {pure_promise(2, 3), gaussian_promise(2, 3)}) {
      EXPECT_LE(shown_epsilon(promise, fewer, all, runs, static_cast<std::uint64_t>(10 + d)), promise.epsilon) << d;
    }
  }
}

TEST(BlackBox, OtherPairsKeepTheirPromise) { other_pairs(2000); }
TEST(BlackBoxSlow, OtherPairsKeepTheirPromise) { other_pairs(20000); }

}  // namespace
}  // namespace feroma
