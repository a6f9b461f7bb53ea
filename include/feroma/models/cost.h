#pragma once

#include "feroma/models/spec.h"

namespace feroma {

/// Multiply-adds of one sample's forward pass; only convolutions and linear layers count.
[[nodiscard]] double forward_products(const ModelSpec& spec);
/// Multiply-adds of one sample's training step: forward, weight gradients, and input gradients except the first
/// layer's, which nobody needs. Two floating-point operations each.
[[nodiscard]] double step_products(const ModelSpec& spec);

}  // namespace feroma
