#include "feroma/models/cost.h"

namespace feroma {
namespace {

/// Multiply-adds of the forward pass of layers[i].
double layer_products(const ModelSpec& spec, std::size_t i) {
  const SampleShape in = output_shape(spec, i);
  const double outputs = output_shape(spec, i + 1).size();
  if (const auto* conv = std::get_if<Conv2d>(&spec.layers[i])) {
    return outputs * in.channels * conv->kernel * conv->kernel;
  }
  if (const auto* conv = std::get_if<Conv1d>(&spec.layers[i])) {
    return outputs * in.channels * conv->kernel;
  }
  return std::holds_alternative<Linear>(spec.layers[i]) ? outputs * in.size() : 0;
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
