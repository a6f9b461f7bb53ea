#pragma once

#include "feroma/models/spec.h"

namespace feroma {

/// Small models that together use every layer, in the orders a planner could trip over.
inline std::vector<ModelSpec> layer_specs() {
  return {
      {"pictures",
       {2, 6, 6},
       3,
       {Conv2d{"a", 4, 3, 1}, BatchNorm{"b"}, Relu{}, MaxPool{2}, Conv2d{"c", 3, 3, 1}, Elu{}, AvgPool{2}, Flatten{},
        LayerNorm{"d"}, Linear{"e", 3}}},
      {"residual",
       {3, 5, 4},
       4,
       {Conv2d{"a", 5, 3, 1}, Relu{}, SkipBegin{}, Conv2d{"b", 5, 3, 1}, BatchNorm{"c"}, Relu{}, Conv2d{"d", 5, 3, 1},
        SkipEnd{}, Relu{}, MaxPool{2}, Flatten{}, Linear{"e", 4}}},
      {"nested-skips",
       {4, 1, 1},
       3,
       {SkipBegin{}, Linear{"a", 4}, Elu{}, SkipBegin{}, Relu{}, Linear{"b", 4}, SkipEnd{}, SkipEnd{}, LayerNorm{"c"},
        Elu{}, Linear{"d", 3}}},
      {"wide",
       {18, 5, 6},
       3,
       {Conv2d{"a", 17, 3, 1}, BatchNorm{"b"}, Relu{}, Conv2d{"c", 20, 2, 0}, Relu{}, MaxPool{3}, Flatten{},
        Linear{"d", 3}}},
      {"signals",
       {3, 1, 20},
       4,
       {Conv1d{"a", 6, 5, 2}, Relu{}, MaxPool{2}, Conv1d{"b", 17, 3, 1}, ChannelScale{"s"}, Relu{}, AvgPool{2},
        Conv1d{"c", 5, 3, 0}, Elu{}, Flatten{}, Linear{"d", 4}}},
      {"scales",
       {2, 8, 8},
       3,
       {ChannelScale{"s"}, Conv2d{"a", 3, 3, 0}, ChannelScale{"t"}, Relu{}, AvgPool{2}, Flatten{}, Linear{"b", 6},
        ChannelScale{"u"}, Relu{}, Linear{"c", 3}}},
      {"rows-of-signals", {2, 3, 9}, 3, {Conv1d{"a", 4, 3, 1}, Relu{}, AvgPool{2}, Flatten{}, Linear{"b", 3}}},
      {"kernel-beyond-the-picture", {2, 3, 2}, 3, {Conv2d{"a", 3, 5, 2}, Relu{}, Flatten{}, Linear{"b", 3}}},
      {"wide-padding-of-many-channels",
       {17, 3, 3},
       2,
       {Conv2d{"a", 18, 2, 2}, Relu{}, Conv2d{"b", 3, 2, 3}, Flatten{}, Linear{"c", 2}}},
      {"skip-over-a-flattened-picture",
       {1, 3, 3},
       3,
       {Conv2d{"a", 2, 1, 0}, SkipBegin{}, Relu{}, Conv2d{"b", 2, 3, 1}, SkipEnd{}, Flatten{}, SkipBegin{},
        Linear{"c", 18}, SkipEnd{}, Linear{"d", 3}}},
      {"skip-that-is-flattened-inside",
       {1, 3, 3},
       3,
       {Conv2d{"a", 18, 3, 0}, SkipBegin{}, Flatten{}, Linear{"b", 18}, SkipEnd{}, Flatten{}, Linear{"c", 3}}},
      {"skip-around-a-flattened-picture",
       {1, 3, 3},
       3,
       {Conv2d{"a", 2, 1, 0}, SkipBegin{}, Flatten{}, Conv2d{"b", 2, 1, 1}, SkipEnd{}, Flatten{}, Linear{"c", 3}}},
      {"ends-in-relu", {6, 1, 1}, 4, {Linear{"a", 5}, Elu{}, Linear{"b", 4}, Relu{}}},
      {"ends-in-flatten", {3, 4, 4}, 5, {Conv2d{"a", 4, 3, 1}, Relu{}, Conv2d{"b", 5, 4, 0}, Flatten{}}},
      {"normalised-input", {5, 1, 1}, 2, {BatchNorm{"a"}, Linear{"b", 4}, BatchNorm{"c"}, Relu{}, Linear{"d", 2}}},
      {"layer-norm-of-pictures",
       {2, 4, 3},
       2,
       {LayerNorm{"a"}, Conv2d{"b", 3, 3, 1}, Relu{}, LayerNorm{"c"}, Flatten{}, Linear{"d", 2}}},
  };
}

}  // namespace feroma
