#pragma once

#include <span>

namespace feroma::detail {

/// out += weight * source with one fused multiply-add per element; the same bits on every target that has FMA.
void add_scaled_(std::span<float> out, float weight, std::span<const float> source);

}  // namespace feroma::detail
