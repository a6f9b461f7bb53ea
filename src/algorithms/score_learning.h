#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/score_network.h"
#include "feroma/core/rng.h"

namespace feroma {

/// Standard normal numbers drawn at random from 65,536 that were made once: a fresh Box-Muller number for each use
/// would cost more than the training that uses them.
class NormalPool {
 public:
  NormalPool() = default;
  explicit NormalPool(Rng rng);
  [[nodiscard]] std::vector<float> draw(std::size_t count, Rng& rng) const;

 private:
  std::vector<float> pool_;
};

/// Rows with noise of a deviation each, and what the noise was, in units of it.
struct NoisyRows {
  std::vector<float> rows;
  std::vector<float> noise;
  std::vector<double> deviations;  ///< one per row
};
[[nodiscard]] NoisyRows add_noise(std::span<const float> rows, std::size_t width, std::span<const double> levels,
                                  const NormalPool& pool, Rng& rng);

/// Denoising score matching: half the mean over rows of |sigma s + v|^2, or of sigma^2 |s + v|^2 where the network is
/// to answer the scaled score. Adds to `gradient`.
double add_matching_loss_(const ScoreNetwork& network, std::span<const float> weights, const NoisyRows& noisy,
                          bool scaled, std::span<float> gradient);

/// How samples are drawn: x += rate / 2 * s(x) + sqrt(rate) * normal, from a normal start.
struct Sampler {
  int samples = 16;
  int steps = 10;
  double rate = 0.01;
};
/// Weight times the squared mean discrepancy between rows and samples of the network, differentiated through the
/// sampler. Adds to `gradient`.
double add_sample_loss_(const ScoreNetwork& network, std::span<const float> weights, std::span<const float> rows,
                        const Sampler& sampler, double weight, const NormalPool& pool, Rng& rng,
                        std::span<float> gradient);

}  // namespace feroma
