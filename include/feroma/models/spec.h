#pragma once

#include <concepts>
#include <memory>
#include <optional>
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
/// The same along the width only, for signals (channels x 1 x time).
struct Conv1d {
  std::string name;
  int out_channels = 0;
  int kernel = 0;
  int padding = 0;
};
struct Relu {};
/// x above zero, exp(x) - 1 below.
struct Elu {};
/// Non-overlapping mean over size x size windows; over 1 x size where there is one row.
struct AvgPool {
  int size = 2;
};
/// The largest value of the same windows.
struct MaxPool {
  int size = 2;
};
/// Per channel over the batch in training, with running statistics (momentum 0.1) otherwise; learned gain and offset.
struct BatchNorm {
  std::string name;
};
/// Per sample over all its features; learned gain and offset for each of them.
struct LayerNorm {
  std::string name;
};
/// A learned factor and offset per channel.
struct ChannelScale {
  std::string name;
};
/// What comes out of the layers between a SkipBegin and its SkipEnd is added to what went in.
struct SkipBegin {};
struct SkipEnd {};
/// channels x height x width becomes one vector; its output is the `flatten` latent.
struct Flatten {};
struct Linear {
  std::string name;
  int out_features = 0;
};

using Layer = std::variant<Conv2d, Conv1d, Relu, Elu, AvgPool, MaxPool, BatchNorm, LayerNorm, ChannelScale, SkipBegin,
                           SkipEnd, Flatten, Linear>;

/// One of the kinds that are listed. Rules about layers name every kind, so a new one without a rule does not compile.
template <class T, class... Kinds>
concept OneOf = (std::same_as<T, Kinds> || ...);

/// What a layer does for those who look for a certain part of a model.
enum class LayerRole {
  convolution,  ///< learned weights over places
  linear,       ///< learned weights over all there is
  factors,      ///< a learned gain and offset, each by itself
  flatten,
  plain,  ///< nothing that is learned
};
[[nodiscard]] LayerRole role_of(const Layer& layer);

/// Which activation is called "the latent": the flattened features, or the input of the last linear layer.
enum class Latent { flatten, penultimate };

/// A TorchScript file of the user's own, as the torch engine found it: features(x) is the latent, head(latent) the
/// logits.
struct ScriptModel {
  std::string path;
  int latent_size = 0;
  ParametersPtr initial;  ///< the weights and buffers in the file
};

/// A model as a list of layers that every engine reads, or a TorchScript file that only the torch engine does.
struct ModelSpec {
  std::string name;
  SampleShape input;
  int classes = 0;
  std::vector<Layer> layers;
  std::shared_ptr<const ScriptModel> script = nullptr;  ///< shared: it holds the file's weights
};

/// Shape of the activation after layers[0..count), starting from the model's input. Throws when a layer cannot apply.
[[nodiscard]] SampleShape output_shape(const ModelSpec& spec, std::size_t count);
/// Index of the layer whose *output* is the latent; absent where the model has none.
[[nodiscard]] std::optional<std::size_t> find_latent_layer(const ModelSpec& spec, Latent latent);
/// The same; a model without it is an invalid_config error.
[[nodiscard]] std::size_t latent_layer(const ModelSpec& spec, Latent latent);
[[nodiscard]] int latent_size(const ModelSpec& spec, Latent latent);
/// Parameter names, shapes and offsets of the model, in layer order (weight, bias, then buffers).
[[nodiscard]] std::shared_ptr<const ParamLayout> make_layout(const ModelSpec& spec);
/// Uniform +-1/sqrt(fan_in) for weights and biases, one stream per tensor; gains 1, offsets 0, running variances 1.
/// A TorchScript file brings its own.
[[nodiscard]] Parameters initialise(const ModelSpec& spec, const Rng& rng);

/// Rows of a pooling window of `size` columns on pictures of `height` rows.
[[nodiscard]] constexpr int window_rows(int size, int height) { return height == 1 ? 1 : size; }

/// LeNet-5 with ReLU and average pooling, as the paper trains it.
[[nodiscard]] ModelSpec lenet5(SampleShape input, int classes);
/// ResNet-9 as the reference implementation builds it: biased 3 x 3 convolutions, no dropout, no global pooling.
[[nodiscard]] ModelSpec resnet9(SampleShape input, int classes);
/// Two hidden layers of 200 units, the MLP of McMahan et al.
[[nodiscard]] ModelSpec mlp(SampleShape input, int classes);
/// Three 1-D convolutions for windows of sensor signals (UCI HAR: 9 x 128).
[[nodiscard]] ModelSpec har_cnn(SampleShape input, int classes);

struct ModelEntry {
  std::string_view name;
  ModelSpec (*make)(SampleShape input, int classes);
  std::string_view source;
  SampleShape smallest;  ///< samples that it takes; larger ones fit too
};
/// Every model this build knows.
[[nodiscard]] const std::vector<ModelEntry>& known_models();
/// Builds a model by name; an unknown name is an invalid_config error that lists the known ones, and so are samples
/// that it cannot take.
[[nodiscard]] ModelSpec make_model(std::string_view name, SampleShape input, int classes);

}  // namespace feroma
