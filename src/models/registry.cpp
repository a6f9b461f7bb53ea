#include <fmt/format.h>

#include "feroma/core/error.h"
#include "feroma/models/spec.h"

namespace feroma {

const std::vector<ModelEntry>& known_models() {
  static const std::vector<ModelEntry> models{
      {"lenet5", lenet5, "LeCun et al., 1998, with ReLU and average pooling"},
      {"resnet9", resnet9, "the reference implementation's ResNet-9"},
      {"mlp", mlp, "McMahan et al., 2017: two hidden layers of 200 units"},
      {"har-cnn", har_cnn, "1-D convolutions for windows of sensor signals"},
  };
  return models;
}

ModelSpec make_model(std::string_view name, SampleShape input, int classes) {
  std::vector<std::string_view> names;
  for (const ModelEntry& entry : known_models()) {
    if (entry.name == name) {
      ModelSpec spec = entry.make(input, classes);
      // Lays the model out once, so that data it cannot take are refused here rather than in a worker.
      static_cast<void>(make_layout(spec));
      return spec;
    }
    names.push_back(entry.name);
  }
  fail(ErrorCode::invalid_config, "[model] name must be one of {}, got \"{}\"", fmt::join(names, ", "), name);
}

}  // namespace feroma
