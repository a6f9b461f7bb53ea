#include "algorithms/score_learning.h"

#include <cmath>

#include "algorithms/stein.h"

namespace feroma {
namespace {

constexpr std::size_t kPoolSize = 65536;  // two places to a random number of 32 bits

}  // namespace

NormalPool::NormalPool(Rng rng) : pool_(kPoolSize) {
  for (float& value : pool_) {
    value = static_cast<float>(rng.normal());
  }
}

std::vector<float> NormalPool::draw(std::size_t count, Rng& rng) const {
  std::vector<float> drawn(count);
  for (std::size_t i = 0; i < count; i += 2) {
    const std::uint32_t two = rng.next_u32();
    drawn[i] = pool_[two % kPoolSize];
    if (i + 1 < count) {
      drawn[i + 1] = pool_[two / kPoolSize];
    }
  }
  return drawn;
}

NoisyRows add_noise(std::span<const float> rows, std::size_t width, std::span<const double> levels,
                    const NormalPool& pool, Rng& rng) {
  NoisyRows noisy;
  noisy.noise = pool.draw(rows.size(), rng);
  noisy.rows.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % width == 0) {
      noisy.deviations.push_back(levels[rng.below(levels.size())]);
    }
    noisy.rows[i] = static_cast<float>(static_cast<double>(rows[i]) +
                                       noisy.deviations.back() * static_cast<double>(noisy.noise[i]));
  }
  return noisy;
}

double add_matching_loss_(const ScoreNetwork& network, std::span<const float> weights, const NoisyRows& noisy,
                          bool scaled, std::span<float> gradient) {
  const ScoreNetwork::Pass pass = network.forward(weights, noisy.rows);
  const auto rows = static_cast<double>(noisy.deviations.size());
  std::vector<float> slope(pass.out.size());
  double loss = 0;
  for (std::size_t i = 0; i < slope.size(); ++i) {
    const double sigma = noisy.deviations[i / network.size()];
    const auto noise = static_cast<double>(noisy.noise[i]);
    const double away = sigma * (static_cast<double>(pass.out[i]) + (scaled ? noise : noise / sigma));
    loss += away * away / (2 * rows);
    slope[i] = static_cast<float>(sigma * away / rows);
  }
  static_cast<void>(network.backward(weights, pass, slope, gradient));
  return loss;
}

double add_sample_loss_(const ScoreNetwork& network, std::span<const float> weights, std::span<const float> rows,
                        const Sampler& sampler, double weight, const NormalPool& pool, Rng& rng,
                        std::span<float> gradient) {
  std::vector<float> samples = pool.draw(static_cast<std::size_t>(sampler.samples) * network.size(), rng);
  std::vector<ScoreNetwork::Pass> passes;
  const auto half = static_cast<float>(sampler.rate / 2);
  const auto spread = static_cast<float>(std::sqrt(sampler.rate));
  for (int step = 0; step < sampler.steps; ++step) {
    passes.push_back(network.forward(weights, samples));
    const std::vector<float> noise = pool.draw(samples.size(), rng);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      samples[i] += half * passes.back().out[i] + spread * noise[i];
    }
  }
  Discrepancy found =
      mean_discrepancy(rows, samples, network.size(), mean_squared_distance(rows, samples, network.size()));
  std::vector<float> slope = std::move(found.gradient);
  for (float& value : slope) {
    value *= static_cast<float>(weight);
  }
  for (std::size_t step = passes.size(); step-- > 0;) {
    std::vector<float> scores(slope.size());
    for (std::size_t i = 0; i < slope.size(); ++i) {
      scores[i] = half * slope[i];
    }
    const std::vector<float> through = network.backward(weights, passes[step], scores, gradient);
    for (std::size_t i = 0; i < slope.size(); ++i) {
      slope[i] += through[i];
    }
  }
  return weight * found.value;
}

}  // namespace feroma
