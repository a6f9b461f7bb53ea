#pragma once

#include <memory>

#include "feroma/drift/federation.h"
#include "tests/data/synthetic.h"

namespace feroma::test {

/// Three clients, three stages of two rounds each, small pictures of ten classes.
inline ScenarioOptions toy_scenario(Shift shift) {
  ScenarioOptions options;
  options.dataset = "toy";
  options.shift = shift;
  options.clients = 3;
  options.drifts = 3;
  options.rounds = 6;
  return options;
}

inline Federation toy_federation(Shift shift) { return {make_dataset(900, 300, {1, 8, 8}), toy_scenario(shift)}; }

/// Numbers instead of bytes: a ramp in every channel.
inline std::shared_ptr<Dataset> number_dataset(SampleShape shape, int classes) {
  auto dataset = std::make_shared<Dataset>(*make_dataset(300, 90, shape, classes));
  for (Samples* samples : {&dataset->train, &dataset->test}) {
    for (std::size_t i = 0; i < samples->pixels.size(); ++i) {
      samples->values.push_back(static_cast<float>(i % static_cast<std::size_t>(shape.width)) - 2.0F);
    }
    samples->pixels.clear();
  }
  return dataset;
}

}  // namespace feroma::test
