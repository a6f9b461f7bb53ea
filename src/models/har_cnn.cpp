#include "feroma/models/spec.h"

namespace feroma {

ModelSpec har_cnn(SampleShape input, int classes) {
  return {.name = "har-cnn",
          .input = input,
          .classes = classes,
          .layers = {Conv1d{"conv1", 32, 5, 2}, Relu{}, MaxPool{2},  //
                     Conv1d{"conv2", 64, 5, 2}, Relu{}, MaxPool{2},  //
                     Conv1d{"conv3", 64, 5, 2}, Relu{}, MaxPool{2}, Flatten{}, Linear{"fc1", 100}, Relu{},
                     Linear{"fc2", classes}}};
}

}  // namespace feroma
