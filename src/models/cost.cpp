#include "feroma/models/cost.h"

namespace feroma {
namespace {

/// Multiply-adds of one output value of a layer.
double products(const Conv2d& layer, SampleShape in) { return in.channels * layer.kernel * layer.kernel; }
double products(const Conv1d& layer, SampleShape in) { return in.channels * layer.kernel; }
double products(const Linear&, SampleShape in) { return in.size(); }
/// Layers that cost little beside those.
double products(
    const OneOf<Relu, Elu, AvgPool, MaxPool, BatchNorm, LayerNorm, ChannelScale, SkipBegin, SkipEnd, Flatten> auto&,
    SampleShape) {
  return 0;
}

/// Multiply-adds of the forward pass of layers[i].
double layer_products(const ModelSpec& spec, std::size_t i) {
  const SampleShape in = output_shape(spec, i);
  return output_shape(spec, i + 1).size() *
         std::visit([&](const auto& layer) { return products(layer, in); }, spec.layers[i]);
}

}  // namespace

double forward_products(const ModelSpec& spec) {
  double products = 0;
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    products += layer_products(spec, i);
  }
  return products;
}

double step_products(const ModelSpec& spec) {
  double products = 0;
  bool first = true;
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const double forward = layer_products(spec, i);
    products += forward * (first ? 2 : 3);
    first = first && forward == 0;
  }
  return products;
}

}  // namespace feroma
