#include <fmt/format.h>

#include "feroma/core/error.h"
#include "feroma/models/spec.h"

namespace feroma {
namespace {

constexpr int kLargestSample = 1 << 22;
constexpr int kMostClasses = 1 << 16;

}  // namespace

const std::vector<ModelEntry>& known_models() {
  static const std::vector<ModelEntry> models{
      {"lenet5", lenet5, "LeCun et al., 1998, with ReLU and average pooling", {1, 10, 12}},
      {"resnet9", resnet9, "the reference implementation's ResNet-9", {1, 1, 16}},
      {"mlp", mlp, "McMahan et al., 2017: two hidden layers of 200 units", {1, 1, 1}},
      {"har-cnn", har_cnn, "1-D convolutions for windows of sensor signals", {1, 1, 8}},
  };
  return models;
}

ModelSpec make_model(std::string_view name, SampleShape input, int classes) {
  // They may come from a file or from a server; sizes of layers are products of them.
  const double values = 1.0 * input.channels * input.height * input.width;
  require(input.channels >= 1 && input.height >= 1 && input.width >= 1 && values <= kLargestSample,
          ErrorCode::invalid_config, "[model] a sample must have 1 to {} values, got {}x{}x{}", kLargestSample,
          input.channels, input.height, input.width);
  require(classes >= 1 && classes <= kMostClasses, ErrorCode::invalid_config,
          "[model] the number of classes must be in 1..{}, got {}", kMostClasses, classes);
  std::vector<std::string_view> names;
  for (const ModelEntry& entry : known_models()) {
    if (entry.name == name) {
      // Before a layer deep inside says it of a picture that nobody has seen.
      const SampleShape& least = entry.smallest;
      require(input.height >= least.height && input.width >= least.width, ErrorCode::invalid_config,
              "[model] {} needs samples of at least {}x{}x{}, got {}x{}x{}", name, least.channels, least.height,
              least.width, input.channels, input.height, input.width);
      ModelSpec spec = entry.make(input, classes);
      // Lays the model out once, so that what it cannot take is refused here rather than in a worker.
      static_cast<void>(make_layout(spec));
      return spec;
    }
    names.push_back(entry.name);
  }
  fail(ErrorCode::invalid_config, "[model] name must be one of {}, got \"{}\"", fmt::join(names, ", "), name);
}

}  // namespace feroma
