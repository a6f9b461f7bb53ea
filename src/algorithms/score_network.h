#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "feroma/core/rng.h"

namespace feroma {

/**
 * A small network from a vector to one of the same size, meant to be the score (the gradient of the log density) of
 * what the vectors are drawn from: linear, LayerNorm, ELU, linear. Its weights come in with every call, as one flat
 * vector: [input][hidden], hidden biases, gains, offsets, [hidden][output], output biases.
 */
class ScoreNetwork {
 public:
  ScoreNetwork(std::size_t size, std::size_t hidden) : size_(size), hidden_(hidden) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Values in the flat vector.
  [[nodiscard]] std::size_t weights() const { return 2 * size_ * hidden_ + 3 * hidden_ + size_; }
  /// Uniform +-1/sqrt(fan_in), gains 1, offsets 0.
  [[nodiscard]] std::vector<float> initial(Rng rng) const;

  /// A forward pass over rows, with what the way back needs.
  struct Pass {
    std::vector<float> in;
    std::vector<float> normal;  ///< rows x hidden, before gains
    std::vector<float> active;  ///< rows x hidden, after the ELU
    std::vector<float> inverse_deviation;
    std::vector<float> out;  ///< rows x size: the scores
  };
  [[nodiscard]] Pass forward(std::span<const float> weights, std::span<const float> rows) const;
  /// From a slope over the scores: returns the slope over the rows, adds the slope over the weights unless `gradient`
  /// is empty.
  [[nodiscard]] std::vector<float> backward(std::span<const float> weights, const Pass& pass,
                                            std::span<const float> slope, std::span<float> gradient) const;

 private:
  [[nodiscard]] std::vector<float> through_norm(std::span<const float> gains, const Pass& pass,
                                                std::span<const float> slope, std::span<float> gradient) const;

  std::size_t size_;
  std::size_t hidden_;
};

}  // namespace feroma
