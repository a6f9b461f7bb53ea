#include "algorithms/score_network.h"

#include <cmath>

#include "algorithms/dense.h"
#include "feroma/core/portable_math.h"

namespace feroma {
namespace {

constexpr double kLayerNormFloor = 1e-5;  // as PyTorch's

/// Where each part of the flat vector begins.
struct ScoreParts {
  ScoreParts(std::size_t size, std::size_t hidden)
      : biases(size * hidden),
        gains(biases + hidden),
        offsets(gains + hidden),
        second(offsets + hidden),
        last(second + size * hidden) {}
  std::size_t biases, gains, offsets, second, last;
};

void add_to_rows_(std::span<float> rows, std::span<const float> biases) {
  for (std::size_t first = 0; first < rows.size(); first += biases.size()) {
    for (std::size_t j = 0; j < biases.size(); ++j) {
      rows[first + j] += biases[j];
    }
  }
}

void add_(std::span<float> to, std::span<const float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    to[i] += values[i];
  }
}

void add_column_sums_(std::span<float> to, std::span<const float> rows) {
  for (std::size_t first = 0; first < rows.size(); first += to.size()) {
    for (std::size_t j = 0; j < to.size(); ++j) {
      to[j] += rows[first + j];
    }
  }
}

}  // namespace

std::vector<float> ScoreNetwork::initial(Rng rng) const {
  const ScoreParts at(size_, hidden_);
  std::vector<float> made(weights());
  for (std::size_t i = 0; i < made.size(); ++i) {
    const double fan_in = static_cast<double>(i < at.gains ? size_ : hidden_);
    const bool norm = i >= at.gains && i < at.second;
    made[i] = norm ? (i < at.offsets ? 1.0F : 0.0F) : static_cast<float>(rng.uniform(-1, 1) / std::sqrt(fan_in));
  }
  return made;
}

ScoreNetwork::Pass ScoreNetwork::forward(std::span<const float> weights, std::span<const float> rows) const {
  const ScoreParts at(size_, hidden_);
  Pass pass;
  pass.in.assign(rows.begin(), rows.end());
  pass.normal = multiply(rows, weights.first(at.biases), size_);
  add_to_rows_(pass.normal, weights.subspan(at.biases, hidden_));
  pass.active.resize(pass.normal.size());
  for (std::size_t first = 0; first < pass.normal.size(); first += hidden_) {
    double mean = 0;
    double variance = 0;
    for (std::size_t j = first; j < first + hidden_; ++j) {
      mean += static_cast<double>(pass.normal[j]) / static_cast<double>(hidden_);
    }
    for (std::size_t j = first; j < first + hidden_; ++j) {
      const double away = static_cast<double>(pass.normal[j]) - mean;
      variance += away * away / static_cast<double>(hidden_);
    }
    const double inverse = 1 / std::sqrt(variance + kLayerNormFloor);
    pass.inverse_deviation.push_back(static_cast<float>(inverse));
    for (std::size_t j = 0; j < hidden_; ++j) {
      float& normal = pass.normal[first + j];
      normal = static_cast<float>((static_cast<double>(normal) - mean) * inverse);
      const float value = normal * weights[at.gains + j] + weights[at.offsets + j];
      pass.active[first + j] = value > 0 ? value : static_cast<float>(portable_exp(static_cast<double>(value)) - 1.0);
    }
  }
  pass.out = multiply(pass.active, weights.subspan(at.second, hidden_ * size_), hidden_);
  add_to_rows_(pass.out, weights.subspan(at.last, size_));
  return pass;
}

std::vector<float> ScoreNetwork::backward(std::span<const float> weights, const Pass& pass,
                                          std::span<const float> slope, std::span<float> gradient) const {
  const ScoreParts at(size_, hidden_);
  const std::size_t rows = pass.inverse_deviation.size();
  std::vector<float> inner = multiply(slope, transpose(weights.subspan(at.second, hidden_ * size_), size_), size_);
  for (std::size_t i = 0; i < inner.size(); ++i) {
    inner[i] *= pass.active[i] > 0 ? 1.0F : pass.active[i] + 1.0F;
  }
  if (!gradient.empty()) {
    add_(gradient.subspan(at.second, hidden_ * size_), multiply(transpose(pass.active, hidden_), slope, rows));
    add_column_sums_(gradient.subspan(at.last, size_), slope);
  }
  const std::vector<float> before = through_norm(weights.subspan(at.gains, hidden_), pass, inner,
                                                 gradient.empty() ? gradient : gradient.subspan(at.gains, 2 * hidden_));
  if (!gradient.empty()) {
    add_(gradient.first(at.biases), multiply(transpose(pass.in, size_), before, rows));
    add_column_sums_(gradient.subspan(at.biases, hidden_), before);
  }
  return multiply(before, transpose(weights.first(at.biases), hidden_), hidden_);
}

/// Back through gains, offsets and the normalisation; `gradient` holds those of gains and offsets.
std::vector<float> ScoreNetwork::through_norm(std::span<const float> gains, const Pass& pass,
                                              std::span<const float> slope, std::span<float> gradient) const {
  std::vector<float> before(slope.size());
  for (std::size_t row = 0; row < pass.inverse_deviation.size(); ++row) {
    const std::size_t first = row * hidden_;
    double mean = 0;
    double along = 0;
    for (std::size_t j = 0; j < hidden_; ++j) {
      const double scaled = static_cast<double>(slope[first + j]) * static_cast<double>(gains[j]);
      mean += scaled / static_cast<double>(hidden_);
      along += scaled * static_cast<double>(pass.normal[first + j]) / static_cast<double>(hidden_);
    }
    for (std::size_t j = 0; j < hidden_; ++j) {
      const double scaled = static_cast<double>(slope[first + j]) * static_cast<double>(gains[j]);
      before[first + j] = static_cast<float>(static_cast<double>(pass.inverse_deviation[row]) *
                                             (scaled - mean - static_cast<double>(pass.normal[first + j]) * along));
    }
    for (std::size_t j = 0; j < hidden_ && !gradient.empty(); ++j) {
      gradient[j] += slope[first + j] * pass.normal[first + j];
      gradient[hidden_ + j] += slope[first + j];
    }
  }
  return before;
}

}  // namespace feroma
