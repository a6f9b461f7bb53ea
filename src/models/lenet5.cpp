#include "feroma/models/spec.h"

namespace feroma {

ModelSpec lenet5(SampleShape input, int classes) {
  return {.name = "lenet5",
          .input = input,
          .classes = classes,
          .layers = {Conv2d{"conv1", 6, 5, 2}, Relu{}, AvgPool{2},              //
                     Conv2d{"conv2", 16, 5, 0}, Relu{}, AvgPool{2}, Flatten{},  //
                     Linear{"fc1", 120}, Relu{}, Linear{"fc2", 84}, Relu{}, Linear{"fc3", classes}}};
}

}  // namespace feroma
