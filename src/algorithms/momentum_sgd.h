#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "feroma/client/trainer.h"
#include "feroma/engine/sgd.h"

namespace feroma {

/// SGD for methods that make their own steps: with the same gradients, the same bits as Trainer::fit.
class MomentumSgd {
 public:
  /// `samples` in the client's training data say how many steps an epoch has; momentum begins with `kept` or zeros.
  MomentumSgd(const FitOptions& fit, std::size_t size, std::size_t samples, std::vector<float> kept = {})
      : fit_(fit), velocity_(std::move(kept)) {
    velocity_.resize(size);
    const auto batch = static_cast<std::size_t>(std::max(fit.batch_size, 1));
    steps_per_epoch_ = std::max<std::size_t>((samples + batch - 1) / batch, 1);
  }

  void step(std::span<float> params, std::span<const float> gradient) {
    if (fit_.momentum_reset == MomentumReset::epoch && steps_ % steps_per_epoch_ == 0) {
      std::fill(velocity_.begin(), velocity_.end(), 0.0F);
    }
    ++steps_;
    sgd_step(params, velocity_, gradient, fit_.learning_rate, fit_.momentum);
  }
  [[nodiscard]] const std::vector<float>& velocity() const { return velocity_; }

 private:
  FitOptions fit_;
  std::vector<float> velocity_;
  std::size_t steps_per_epoch_ = 1;
  std::size_t steps_ = 0;
};

}  // namespace feroma
