#pragma once

#include "feroma/models/parameters.h"
#include "feroma/models/spec.h"

namespace feroma::fuzz {

/// Ten values, so that whole models fit into small inputs.
inline ModelSpec tiny_spec() {
  ModelSpec spec;
  spec.name = "tiny";
  spec.input = {1, 2, 2};
  spec.classes = 2;
  spec.layers = {Flatten{}, Linear{"fc", 2}};
  return spec;
}

inline const ParametersPtr& tiny_model() {
  static const ParametersPtr model = share(initialise(tiny_spec(), Rng(1)));
  return model;
}

}  // namespace feroma::fuzz
