#include "feroma/models/spec.h"

namespace feroma {

ModelSpec mlp(SampleShape input, int classes) {
  constexpr int kHidden = 200;
  return {
      .name = "mlp",
      .input = input,
      .classes = classes,
      .layers = {Flatten{}, Linear{"fc1", kHidden}, Relu{}, Linear{"fc2", kHidden}, Relu{}, Linear{"fc3", classes}}};
}

}  // namespace feroma
