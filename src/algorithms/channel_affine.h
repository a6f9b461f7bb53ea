#pragma once

#include <span>
#include <vector>

#include "feroma/models/parameters.h"

namespace feroma {

/**
 * A factor and an offset for every output channel of a model's inner layers: what a normalisation layer learns, for
 * models with or without one. Scaling and shifting what a layer puts out is scaling its weights and bias per channel
 * and shifting its bias, so an adapted model is an ordinary model. Where a model has normalisation layers their gains
 * and offsets are adapted; otherwise every weight with its bias, but for the last layer's unless it is the only one.
 */
class ChannelAffine {
 public:
  explicit ChannelAffine(const ParamLayout& layout);

  /// Values in all; per layer its factors, then its offsets.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Factors 1, offsets 0.
  [[nodiscard]] std::vector<float> identity() const;
  /// Channel c of a layer gets factor * weights, factor * bias + offset.
  [[nodiscard]] Parameters apply(const Parameters& model, std::span<const float> values) const;
  /// The slope in the values, from the slope in the parameters of apply(model, values):
  /// <weights, slope of the weights> + bias * slope of the bias for a factor, the slope of the bias for an offset.
  [[nodiscard]] std::vector<float> slope(const Parameters& model, std::span<const float> gradient) const;
  /// Largest mean magnitude over the factors or the offsets of one layer.
  [[nodiscard]] double largest_mean(std::span<const float> values) const;

 private:
  struct Layer {
    std::size_t weight = 0;  ///< where its weights begin in the parameters
    std::size_t bias = 0;
    std::size_t channels = 0;
    std::size_t row = 0;    ///< weights per channel
    std::size_t first = 0;  ///< where its factors begin in the values
  };
  std::vector<Layer> layers_;
  std::size_t size_ = 0;
};

}  // namespace feroma
