#pragma once

#include <span>

namespace feroma {

/// velocity = momentum * velocity + gradient; params -= learning_rate * velocity (PyTorch's SGD), in one pass.
void sgd_step(std::span<float> params, std::span<float> velocity, std::span<const float> gradient, double learning_rate,
              double momentum);

}  // namespace feroma
