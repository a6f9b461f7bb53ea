#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "feroma/core/batch.h"
#include "feroma/core/rng.h"
#include "feroma/models/parameters.h"

namespace feroma {

/// Stride-1 square convolution with bias.
struct Conv2d {
  std::string name;
  int out_channels = 0;
  int kernel = 0;
  int padding = 0;
};
struct Relu {};
/// Non-overlapping mean over size x size windows.
struct AvgPool {
  int size = 2;
};
/// channels x height x width becomes one vector; its output is the `flatten` latent.
struct Flatten {};
struct Linear {
  std::string name;
  int out_features = 0;
};

using Layer = std::variant<Conv2d, Relu, AvgPool, Flatten, Linear>;

/// Which activation is called "the latent": the flattened features, or the input of the last linear layer.
enum class Latent { flatten, penultimate };

/// A model as a list of layers that every engine reads.
struct ModelSpec {
  std::string name;
  SampleShape input;
  int classes = 0;
  std::vector<Layer> layers;
};

/// Shape of the activation after layers[0..count), starting from the model's input. Throws when a layer cannot apply.
[[nodiscard]] SampleShape output_shape(const ModelSpec& spec, std::size_t count);
/// Index of the layer whose *output* is the latent.
[[nodiscard]] std::size_t latent_layer(const ModelSpec& spec, Latent latent);
[[nodiscard]] int latent_size(const ModelSpec& spec, Latent latent);
/// Parameter names, shapes and offsets of the model, in layer order (weight then bias).
[[nodiscard]] std::shared_ptr<const ParamLayout> make_layout(const ModelSpec& spec);
/// Uniform +-1/sqrt(fan_in) for weights and biases, one stream per tensor.
[[nodiscard]] Parameters initialise(const ModelSpec& spec, const Rng& rng);

/// LeNet-5 with ReLU and average pooling, as the paper trains it.
[[nodiscard]] ModelSpec lenet5(SampleShape input, int classes);

struct ModelEntry {
  std::string_view name;
  ModelSpec (*make)(SampleShape input, int classes);
  std::string_view source;
};
/// Every model this build knows.
[[nodiscard]] const std::vector<ModelEntry>& known_models();
/// Builds a model by name; an unknown name is an invalid_config error that lists the known ones.
[[nodiscard]] ModelSpec make_model(std::string_view name, SampleShape input, int classes);

}  // namespace feroma
