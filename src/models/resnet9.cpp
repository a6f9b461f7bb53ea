#include "feroma/models/spec.h"

namespace feroma {
namespace {

void add_block(std::vector<Layer>& layers, const std::string& name, int channels, bool halve = false) {
  layers.insert(layers.end(), {Conv2d{name + ".0", channels, 3, 1}, BatchNorm{name + ".1"}, Relu{}});
  if (halve) {
    layers.emplace_back(MaxPool{2});
  }
}

void add_residual(std::vector<Layer>& layers, const std::string& name, int channels) {
  layers.emplace_back(SkipBegin{});
  add_block(layers, name + ".0", channels);
  add_block(layers, name + ".1", channels);
  layers.emplace_back(SkipEnd{});
}

}  // namespace

// The reference's constructor also sends one zero picture through the net, which nudges the running statistics before
// training; the first batches overwrite that, so it is left out.
ModelSpec resnet9(SampleShape input, int classes) {
  ModelSpec spec{"resnet9", input, classes, {}};
  add_block(spec.layers, "prep", 64);
  add_block(spec.layers, "layer1_head", 128, /*halve=*/true);
  add_residual(spec.layers, "layer1_residual", 128);
  add_block(spec.layers, "layer2", 256, /*halve=*/true);
  add_block(spec.layers, "layer3_head", 512, /*halve=*/true);
  add_residual(spec.layers, "layer3_residual", 512);
  spec.layers.insert(spec.layers.end(), {MaxPool{2}, Flatten{}, Linear{"linear", classes}});
  return spec;
}

}  // namespace feroma
