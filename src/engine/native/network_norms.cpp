// The steps that scale or normalise: per-channel factors, BatchNorm, LayerNorm.
#include <algorithm>
#include <cmath>

#include "engine/native/network.h"
#include "feroma/core/error.h"

namespace feroma::detail {
namespace {

constexpr double kRunningShare = 0.1;  ///< how much of a batch's statistics the running ones take over, as in PyTorch

/// The sum of one channel's first lanes.
double lane_sum(const float* sums, int lanes) {
  double total = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    total += static_cast<double>(sums[lane]);
  }
  return total;
}

}  // namespace

void Network::forward_scale(std::size_t step, int group, std::span<const float> params) {
  const Step& what = plan_.steps[step];
  scale_channels(extent(step), in_picture(step, group), params.data() + what.weight, params.data() + what.bias,
                 what.rectify, out_picture(step, group));
}

void Network::backward_scale(std::size_t step, int group, std::span<const float> params) {
  const Step& what = plan_.steps[step];
  const Extent all = extent(step);
  if (what.rectify) {
    block_gradient(all, out_picture(step, group), out_gradient(step, group));
  }
  const Picture from = out_gradient(step, group);
  add_pixels(from.first, all, from.strides, sums_[step].biases.data());
  add_products(all, from, in_picture(step, group), sums_[step].weights.data());
  if (step > plan_.first_trained) {
    scale_channels(all, from, params.data() + what.weight, norms_[step].offsets.data(), false,
                   in_gradient(step, group));
  }
}

double Network::values_per_channel(std::size_t step) const {
  const Extent all = extent(step);
  return static_cast<double>(all.height) * all.width * samples_;
}

/// Mean and variance of every channel over the batch; lanes without a sample do not count.
void Network::measure_batch(std::size_t step) {
  Norm& norm = norms_[step];
  const Extent all = extent(step);
  const auto channels = static_cast<std::size_t>(all.channels);
  const double count = values_per_channel(step);
  const auto over_groups = [&](auto add) {
    std::vector<double> totals(channels);
    for (int group = 0; group < groups_; ++group) {
      norm.sums.clear_();
      add(group);
      for (std::size_t c = 0; c < channels; ++c) {
        totals[c] += lane_sum(norm.sums.data() + c * kGroupLanes, lanes_of(group));
      }
    }
    return totals;
  };
  const std::vector<double> sums = over_groups([&](int group) {
    const Picture in = in_picture(step, group);
    add_pixels(in.first, all, in.strides, norm.sums.data());
  });
  for (std::size_t c = 0; c < channels; ++c) {
    norm.means[c] = static_cast<float>(sums[c] / count);
  }
  const std::vector<double> squares =
      over_groups([&](int group) { add_squares(all, in_picture(step, group), norm.means.data(), norm.sums.data()); });
  for (std::size_t c = 0; c < channels; ++c) {
    norm.variances[c] = static_cast<float>(squares[c] / count);
  }
}

void Network::forward_batch_norm(std::size_t step, std::span<const float> params, Mode mode) {
  const Step& what = plan_.steps[step];
  Norm& norm = norms_[step];
  if (mode == Mode::train) {
    const double count = values_per_channel(step);
    require(count > 1, ErrorCode::invalid_data,
            "[engine] batch normalisation needs more than one value per channel, got {}", count);
    measure_batch(step);
  } else {
    if (mode == Mode::measure) {
      measure_batch(step);
      norm.batch_means = norm.means;
      norm.batch_variances = norm.variances;
    }
    const std::size_t channels = norm.means.size();
    std::copy_n(params.begin() + static_cast<std::ptrdiff_t>(what.mean), channels, norm.means.begin());
    std::copy_n(params.begin() + static_cast<std::ptrdiff_t>(what.variance), channels, norm.variances.begin());
  }
  for (std::size_t c = 0; c < norm.means.size(); ++c) {
    const float inverse = 1.0F / std::sqrt(norm.variances[c] + kNormEpsilon);
    norm.gains[c] = params[what.weight + c] * inverse;
    norm.offsets[c] = params[what.bias + c] - norm.means[c] * norm.gains[c];
  }
  for (int group = 0; group < groups_; ++group) {
    scale_channels(extent(step), in_picture(step, group), norm.gains.data(), norm.offsets.data(), what.rectify,
                   out_picture(step, group));
  }
}

/**
 * With n = (x - mean) / deviation and g the gradient of the output: the gain's gradient is sum(g n), the offset's
 * sum(g), and the input's gain / deviation * (g - mean(g) - n mean(g n)), which is a blend of g and x per channel.
 * Running statistics do not follow the input: its gradient is gain / deviation * g alone, and they have one of their
 * own, -gain / deviation * sum(g) for the mean and -gain / (2 variance) * sum(g n) for the variance.
 */
void Network::backward_batch_norm(std::size_t step) {
  const Step& what = plan_.steps[step];
  Norm& norm = norms_[step];
  Sums& sums = sums_[step];
  const Extent all = extent(step);
  const double count = values_per_channel(step);
  const bool own = mode_ == Mode::train;
  norm.mean_gradients.assign(own ? 0 : norm.means.size(), 0.0F);
  norm.variance_gradients.assign(own ? 0 : norm.means.size(), 0.0F);
  std::vector<double> of_gradient(norm.means.size());
  std::vector<double> of_product(norm.means.size());
  for (int group = 0; group < groups_; ++group) {
    if (what.rectify) {
      block_gradient(all, out_picture(step, group), out_gradient(step, group));
    }
    const Picture from = out_gradient(step, group);
    sums.biases.clear_();
    sums.weights.clear_();
    add_pixels(from.first, all, from.strides, sums.biases.data());
    add_products(all, from, in_picture(step, group), sums.weights.data());
    for (std::size_t c = 0; c < norm.means.size(); ++c) {
      of_gradient[c] += lane_sum(sums.biases.data() + c * kGroupLanes, kGroupLanes);
      of_product[c] += lane_sum(sums.weights.data() + c * kGroupLanes, kGroupLanes);
    }
  }
  sums.biases.clear_();
  sums.weights.clear_();
  std::vector<float> in_factors(norm.means.size());
  std::vector<float> constants(norm.means.size());
  for (std::size_t c = 0; c < norm.means.size(); ++c) {
    const auto mean = static_cast<double>(norm.means[c]);
    const double inverse = 1.0 / std::sqrt(static_cast<double>(norm.variances[c] + kNormEpsilon));
    const double gain_gradient = (of_product[c] - mean * of_gradient[c]) * inverse;
    sums.biases.data()[c * kGroupLanes] = static_cast<float>(of_gradient[c]);
    sums.weights.data()[c * kGroupLanes] = static_cast<float>(gain_gradient);
    if (!own) {
      const auto gain = static_cast<double>(norm.gains[c]);  // already divided by the deviation
      norm.mean_gradients[c] = static_cast<float>(-gain * of_gradient[c]);
      norm.variance_gradients[c] = static_cast<float>(-0.5 * gain * inverse * gain_gradient);
      continue;
    }
    const double slope = static_cast<double>(norm.gains[c]) * inverse * gain_gradient / count;
    in_factors[c] = static_cast<float>(-slope);
    constants[c] = static_cast<float>(slope * mean - static_cast<double>(norm.gains[c]) * of_gradient[c] / count);
  }
  for (int group = 0; group < groups_ && step > plan_.first_trained; ++group) {
    std::array<float, kGroupLanes> used{};
    std::fill_n(used.begin(), lanes_of(group), 1.0F);
    blend(all, {norm.gains.data(), in_factors.data(), constants.data(), used.data()}, out_gradient(step, group),
          in_picture(step, group), in_gradient(step, group));
  }
}

void Network::update_buffers(std::span<float> params) const {
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    const Step& step = plan_.steps[i];
    if (step.kind != StepKind::batch_norm) {
      continue;
    }
    const double count = values_per_channel(i);
    const auto move = [&](float& running, double value) {
      running = static_cast<float>((1 - kRunningShare) * static_cast<double>(running) + kRunningShare * value);
    };
    for (std::size_t c = 0; c < norms_[i].means.size(); ++c) {
      move(params[step.mean + c], static_cast<double>(norms_[i].means[c]));
      move(params[step.variance + c], static_cast<double>(norms_[i].variances[c]) * count / (count - 1));
    }
    params[step.count] += 1.0F;
  }
}

void Network::replace_statistics(std::span<float> params) const {
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    const Step& step = plan_.steps[i];
    if (step.kind != StepKind::batch_norm) {
      continue;
    }
    const double count = values_per_channel(i);
    for (std::size_t c = 0; c < norms_[i].batch_means.size(); ++c) {
      params[step.mean + c] = norms_[i].batch_means[c];
      if (count > 1) {
        params[step.variance + c] =
            static_cast<float>(static_cast<double>(norms_[i].batch_variances[c]) * count / (count - 1));
      }
    }
  }
}

void Network::forward_layer_norm(std::size_t step, int group, std::span<const float> params) {
  const Step& what = plan_.steps[step];
  layer_norm({static_cast<int>(plan_.tensors[step].features()), params.data() + what.weight, activation(step, group),
              norms_[step].statistics.data() + std::ptrdiff_t{2} * group * kGroupLanes},
             params.data() + what.bias, activation(step + 1, group));
}

void Network::backward_layer_norm(std::size_t step, int group, std::span<const float> params) {
  const Step& what = plan_.steps[step];
  layer_norm_gradient(
      {static_cast<int>(plan_.tensors[step].features()), params.data() + what.weight, activation(step, group),
       norms_[step].statistics.data() + std::ptrdiff_t{2} * group * kGroupLanes},
      gradient(step + 1, group), sums_[step].weights.data(), sums_[step].biases.data(), norms_[step].sums.data());
  if (step > plan_.first_trained) {
    std::copy_n(norms_[step].sums.data(), norms_[step].sums.size(), gradient(step, group));
  }
}

}  // namespace feroma::detail
