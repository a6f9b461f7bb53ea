#pragma once

#include <span>
#include <string_view>

#include "feroma/client/trainer.h"
#include "feroma/models/parameters.h"

namespace feroma {

/// Calls `use(begin, end)` for every tensor that is trained: buffers travel with a model, but no step may move them.
template <class Use>
void for_each_trained(const ParamLayout& layout, Use use) {
  for (const Segment& segment : layout.segments) {
    if (segment.kind != SegmentKind::buffer) {
      use(segment.offset, segment.offset + segment.size);
    }
  }
}

/// gradient += weight * (params - anchor), which is the gradient of (weight / 2) * ||params - anchor||^2.
void add_prox_gradient(const ParamLayout& layout, std::span<const float> params, std::span<const float> anchor,
                       double weight, std::span<float> gradient);

/// A pull so strong that its steps overshoot by more each time is an invalid_config error: with momentum m they settle
/// where the learning rate times the weight is below 2 (1 + m), whatever the data say.
void require_stable_pull(std::string_view key, double weight, const FitOptions& fit);

/// Buffers of `params` as in `source`, everything else as it was.
void copy_buffers_(Parameters& params, const Parameters& source);

}  // namespace feroma
