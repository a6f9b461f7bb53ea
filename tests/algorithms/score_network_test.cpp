#include "algorithms/score_network.h"

#include "algorithms/score_learning.h"
#include "tests/algorithms/slopes.h"

namespace feroma {
namespace {

using test::expect_slopes;
using test::normal_rows;

TEST(ScoreNetwork, HasTheWeightsOfItsLayers) {
  EXPECT_EQ(ScoreNetwork(84, 64).weights(), 84U * 64U + 64U + 2U * 64U + 64U * 84U + 84U);
  EXPECT_EQ(ScoreNetwork(3, 5).initial(Rng(1)).size(), ScoreNetwork(3, 5).weights());
}

TEST(ScoreNetwork, GradientsAgreeWithFiniteDifferences) {
  const ScoreNetwork network(3, 5);
  const std::vector<float> weights = network.initial(Rng(1));
  const std::vector<float> rows = normal_rows(4 * 3, 2);
  const std::vector<float> wanted = normal_rows(4 * 3, 3);
  const auto value = [&](const auto& w, const auto& x) {
    const ScoreNetwork::Pass pass = network.forward(w, x);
    double sum = 0;
    for (std::size_t i = 0; i < pass.out.size(); ++i) {
      sum += static_cast<double>(pass.out[i]) * static_cast<double>(wanted[i]);
    }
    return sum;
  };
  std::vector<float> gradient(weights.size());
  const ScoreNetwork::Pass pass = network.forward(weights, rows);
  const std::vector<float> through = network.backward(weights, pass, wanted, gradient);
  expect_slopes(
      rows, through, [&](const auto& x) { return value(weights, x); }, 3e-3, 1e-2);
  expect_slopes(
      weights, gradient, [&](const auto& w) { return value(w, rows); }, 3e-3, 1e-2);
  EXPECT_EQ(network.backward(weights, pass, wanted, {}), through);  // whoever wants no weights' slope gives no room
}

TEST(NormalPool, DrawsHaveMeanZeroAndVarianceOne) {
  const NormalPool pool(Rng(1));
  Rng rng(2);
  const std::vector<float> drawn = pool.draw(20001, rng);
  double mean = 0;
  double square = 0;
  for (const float value : drawn) {
    mean += static_cast<double>(value) / 20001;
    square += static_cast<double>(value) * static_cast<double>(value) / 20001;
  }
  EXPECT_NEAR(mean, 0, 0.03);
  EXPECT_NEAR(square, 1, 0.05);
}

TEST(ScoreLearning, MatchingRecoversTheScoreOfAGaussian) {
  // Data of mean 1 and deviation 0.8 with noise of deviation 0.3: the score is -(x - 1) / (0.64 + 0.09).
  const ScoreNetwork network(2, 32);
  const NormalPool pool(Rng(5));
  std::vector<float> weights = network.initial(Rng(1));
  Rng rng(2);
  for (int step = 0; step < 4000; ++step) {
    const std::vector<float> rows = normal_rows(64 * 2, static_cast<std::uint64_t>(100 + step), 1, 0.8);
    std::vector<float> gradient(weights.size());
    add_matching_loss_(network, weights, add_noise(rows, 2, std::vector<double>{0.3}, pool, rng), false, gradient);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] -= 0.1F * (1.0F - static_cast<float>(step) / 4000.0F) * gradient[i];  // less and less noise
    }
  }
  const std::vector<float> places{1, 1, 1.6F, 0.7F, 0.4F, 1.3F, 0.6F, 0.5F};
  const std::vector<float> scores = network.forward(weights, places).out;
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_NEAR(scores[i], -(places[i] - 1) / 0.73F, 0.25) << places[i];
  }
}

TEST(ScoreLearning, MatchingGradientsAgreeWithFiniteDifferences) {
  const ScoreNetwork network(3, 4);
  const NormalPool pool(Rng(5));
  const std::vector<float> weights = network.initial(Rng(1));
  Rng rng(2);
  const NoisyRows noisy = add_noise(normal_rows(6 * 3, 7), 3, std::vector<double>{0.2, 0.5, 1}, pool, rng);
  ASSERT_EQ(noisy.deviations.size(), 6U);
  for (const bool scaled : {false, true}) {
    std::vector<float> gradient(weights.size());
    add_matching_loss_(network, weights, noisy, scaled, gradient);
    std::vector<float> ignored(weights.size());
    expect_slopes(
        weights, gradient, [&](const auto& w) { return add_matching_loss_(network, w, noisy, scaled, ignored); }, 3e-3,
        1e-2);
  }
}

TEST(ScoreLearning, SampleLossMovesTheNetworkTowardsTheRows) {
  // Latents far from where the sampler starts: following the gradient brings its samples nearer.
  const ScoreNetwork network(3, 8);
  const NormalPool pool(Rng(5));
  std::vector<float> weights = network.initial(Rng(1));
  const std::vector<float> rows = normal_rows(40 * 3, 7, 1.5, 0.5);
  const auto loss = [&](const std::vector<float>& w, std::span<float> gradient) {
    Rng rng(3);
    return add_sample_loss_(network, w, rows, {30, 10, 0.1}, 1, pool, rng, gradient);
  };
  std::vector<float> gradient(weights.size());
  const double before = loss(weights, gradient);
  for (int step = 0; step < 100; ++step) {
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    static_cast<void>(loss(weights, gradient));
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] -= 0.5F * gradient[i];
    }
  }
  EXPECT_LT(loss(weights, gradient), 0.7 * before);
}

}  // namespace
}  // namespace feroma
