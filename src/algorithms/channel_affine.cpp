#include "algorithms/channel_affine.h"

#include <algorithm>
#include <cmath>

#include "feroma/core/error.h"

namespace feroma {
namespace {

/// Whether segment i is a weight, or a gain, and the next one its bias, or offset.
bool begins_pair(const std::vector<Segment>& segments, std::size_t i, bool normalisation) {
  if (i + 1 >= segments.size()) {
    return false;
  }
  const SegmentKind first = normalisation ? SegmentKind::affine : SegmentKind::weight;
  const SegmentKind second = normalisation ? SegmentKind::affine : SegmentKind::bias;
  return segments[i].kind == first && segments[i + 1].kind == second && !segments[i].shape.empty() &&
         static_cast<std::size_t>(segments[i].shape.front()) == segments[i + 1].size;
}

std::vector<std::size_t> pairs_of(const std::vector<Segment>& segments, bool normalisation) {
  std::vector<std::size_t> pairs;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (begins_pair(segments, i, normalisation)) {
      pairs.push_back(i);
      ++i;
    }
  }
  return pairs;
}

double mean_magnitude(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) {
    sum += std::abs(static_cast<double>(value));
  }
  return sum / static_cast<double>(values.size());
}

}  // namespace

ChannelAffine::ChannelAffine(const ParamLayout& layout) {
  const std::vector<Segment>& segments = layout.segments;
  std::vector<std::size_t> pairs = pairs_of(segments, /*normalisation=*/true);
  if (pairs.empty()) {
    pairs = pairs_of(segments, /*normalisation=*/false);
    if (pairs.size() > 1) {
      pairs.pop_back();
    }
  }
  require(!pairs.empty(), ErrorCode::unsupported, "[channels] a model needs a layer with weights and a bias, got none");
  for (const std::size_t i : pairs) {
    const std::size_t channels = segments[i + 1].size;
    layers_.push_back({segments[i].offset, segments[i + 1].offset, channels, segments[i].size / channels, size_});
    size_ += 2 * channels;
  }
}

std::vector<float> ChannelAffine::identity() const {
  std::vector<float> values(size_);
  for (const Layer& layer : layers_) {
    std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(layer.first), layer.channels, 1.0F);
  }
  return values;
}

Parameters ChannelAffine::apply(const Parameters& model, std::span<const float> values) const {
  require(values.size() == size_, ErrorCode::internal, "[channels] {} values are needed, got {}", size_, values.size());
  Parameters applied = model.clone();
  const std::span<float> params = applied.values();
  for (const Layer& layer : layers_) {
    for (std::size_t c = 0; c < layer.channels; ++c) {
      const float factor = values[layer.first + c];
      for (std::size_t i = 0; i < layer.row; ++i) {
        params[layer.weight + c * layer.row + i] *= factor;
      }
      params[layer.bias + c] = factor * params[layer.bias + c] + values[layer.first + layer.channels + c];
    }
  }
  return applied;
}

std::vector<float> ChannelAffine::slope(const Parameters& model, std::span<const float> gradient) const {
  std::vector<float> slope(size_);
  const std::span<const float> params = model.values();
  for (const Layer& layer : layers_) {
    for (std::size_t c = 0; c < layer.channels; ++c) {
      const double bias_slope = static_cast<double>(gradient[layer.bias + c]);
      double sum = static_cast<double>(params[layer.bias + c]) * bias_slope;
      for (std::size_t i = layer.weight + c * layer.row; i < layer.weight + (c + 1) * layer.row; ++i) {
        sum += static_cast<double>(params[i]) * static_cast<double>(gradient[i]);
      }
      slope[layer.first + c] = static_cast<float>(sum);
      slope[layer.first + layer.channels + c] = static_cast<float>(bias_slope);
    }
  }
  return slope;
}

double ChannelAffine::largest_mean(std::span<const float> values) const {
  double largest = 0;
  for (const Layer& layer : layers_) {
    for (const std::size_t first : {layer.first, layer.first + layer.channels}) {
      largest = std::max(largest, mean_magnitude(values.subspan(first, layer.channels)));
    }
  }
  return largest;
}

}  // namespace feroma
