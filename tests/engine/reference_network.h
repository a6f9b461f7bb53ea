#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "feroma/core/batch.h"
#include "feroma/core/error.h"
#include "feroma/engine/objective.h"
#include "feroma/models/parameters.h"
#include "feroma/models/spec.h"
#include "tests/engine/reference_loss.h"

namespace feroma {

/**
 * Every layer and loss in plain loops, in float or double: what the engines are compared with. Activations are
 * [sample][channel][row][column]; nothing is fused and every activation is kept.
 */
template <class T>
class ReferenceNetwork {
 public:
  struct Outcome {
    T loss = 0;
    std::vector<T> gradient;
    std::vector<T> buffers;  ///< all parameters, with the running statistics moved
  };

  ReferenceNetwork(const ModelSpec& spec, std::vector<T> params) : spec_(spec), params_(std::move(params)) {}

  [[nodiscard]] Outcome gradient(const Batch& batch, const Objective& objective) {
    forward(batch, /*training=*/true);
    Outcome out;
    slope_.assign(params_.size(), T(0));
    std::vector<T> g = reference_loss_slope(values_.back(), batch, objective.loss, out.loss);
    const auto latent = find_latent_layer(spec_, objective.latent);
    std::vector<float> pull;
    if (objective.latent_loss && latent) {
      const std::vector<float> rows(values_[*latent + 1].begin(), values_[*latent + 1].end());
      pull.resize(rows.size());
      out.loss += static_cast<T>(objective.latent_loss(rows, pull));
    }
    for (std::size_t i = spec_.layers.size(); i-- > 0;) {
      if (latent == i) {
        for (std::size_t j = 0; j < pull.size(); ++j) {
          g[j] += static_cast<T>(pull[j]);
        }
      }
      at_ = i;
      g = std::visit([&](const auto& layer) { return backward(layer, g); }, spec_.layers[i]);
    }
    out.gradient = slope_;
    out.buffers = params_;
    return out;
  }

  [[nodiscard]] std::vector<T> logits(const Batch& batch, bool training) {
    forward(batch, training);
    return values_.back();
  }

 private:
  using Values = std::vector<T>;
  struct Place {
    SampleShape shape;
    [[nodiscard]] std::size_t operator()(int n, int c, int y, int x) const {
      return static_cast<std::size_t>(((n * shape.channels + c) * shape.height + y) * shape.width + x);
    }
  };

  [[nodiscard]] Place in() const { return {output_shape(spec_, at_)}; }
  [[nodiscard]] Place out() const { return {output_shape(spec_, at_ + 1)}; }
  [[nodiscard]] const Values& x() const { return values_[at_]; }
  [[nodiscard]] const Values& y() const { return values_[at_ + 1]; }
  /// Where the layer's tensors start, in the parameters and in their gradient.
  [[nodiscard]] std::size_t offset() const { return offsets_[at_]; }

  template <class Use>
  void each(Place place, Use use) const {
    for (int n = 0; n < samples_; ++n) {
      for (int c = 0; c < place.shape.channels; ++c) {
        for (int row = 0; row < place.shape.height; ++row) {
          for (int column = 0; column < place.shape.width; ++column) {
            use(n, c, row, column);
          }
        }
      }
    }
  }

  void forward(const Batch& batch, bool training) {
    samples_ = batch.size;
    training_ = training;
    values_.assign(1, Values(batch.inputs.begin(), batch.inputs.end()));
    offsets_.clear();
    std::size_t next = 0;
    for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
      at_ = i;
      offsets_.push_back(next);
      next += tensors(i);
      values_.push_back(std::visit([&](const auto& layer) { return apply(layer); }, spec_.layers[i]));
    }
  }

  /// Parameters of one layer: what the layout grows by.
  [[nodiscard]] std::size_t tensors(std::size_t layer) const {
    ModelSpec until = spec_;
    const auto size = [&](std::size_t count) {
      until.layers.assign(spec_.layers.begin(), spec_.layers.begin() + static_cast<std::ptrdiff_t>(count));
      std::erase_if(until.layers, [](const Layer& l) {
        return std::holds_alternative<SkipBegin>(l) || std::holds_alternative<SkipEnd>(l);
      });
      until.layers.emplace_back(Flatten{});
      until.classes = output_shape(until, until.layers.size()).channels;
      return make_layout(until)->size;
    };
    return size(layer + 1) - size(layer);
  }

  // ---- Convolution and linear layers ----
  struct Kernel {
    int rows, columns, pad_rows, pad_columns;
  };
  static Kernel kernel(const Conv2d& l) { return {l.kernel, l.kernel, l.padding, l.padding}; }
  static Kernel kernel(const Conv1d& l) { return {1, l.kernel, 0, l.padding}; }
  static Kernel kernel(const Linear&) { return {1, 1, 0, 0}; }

  /// Calls use(output index, input index, weight index, output channel) for every product of the layer.
  template <class Use>
  void products(Kernel k, Use use) const {
    const Place a = in();
    const Place b = out();
    each(b, [&](int n, int o, int row, int column) {
      for (int i = 0; i < a.shape.channels; ++i) {
        for (int r = 0; r < k.rows; ++r) {
          for (int c = 0; c < k.columns; ++c) {
            const int py = row + r - k.pad_rows;
            const int px = column + c - k.pad_columns;
            if (py >= 0 && py < a.shape.height && px >= 0 && px < a.shape.width) {
              use(b(n, o, row, column), a(n, i, py, px),
                  offset() + static_cast<std::size_t>(((o * a.shape.channels + i) * k.rows + r) * k.columns + c));
            }
          }
        }
      }
    });
  }
  [[nodiscard]] std::size_t bias_of(Kernel k, int o) const {
    return offset() + static_cast<std::size_t>(out().shape.channels * in().shape.channels * k.rows * k.columns + o);
  }
  template <class L>
  Values convolve(const L& layer) const {
    const Kernel k = kernel(layer);
    Values result(static_cast<std::size_t>(samples_ * out().shape.size()));
    const Place b = out();
    each(b, [&](int n, int o, int r, int c) { result[b(n, o, r, c)] = params_[bias_of(k, o)]; });
    products(k, [&](std::size_t to, std::size_t from, std::size_t w) { result[to] += params_[w] * x()[from]; });
    return result;
  }
  template <class L>
  Values convolve_back(const L& layer, const Values& g) {
    const Kernel k = kernel(layer);
    Values result(x().size());
    const Place b = out();
    each(b, [&](int n, int o, int r, int c) { slope_[bias_of(k, o)] += g[b(n, o, r, c)]; });
    products(k, [&](std::size_t to, std::size_t from, std::size_t w) {
      result[from] += params_[w] * g[to];
      slope_[w] += x()[from] * g[to];
    });
    return result;
  }
  Values apply(const Conv2d& l) const { return convolve(l); }
  Values apply(const Conv1d& l) const { return convolve(l); }
  Values apply(const Linear& l) const { return convolve(l); }
  Values backward(const Conv2d& l, const Values& g) { return convolve_back(l, g); }
  Values backward(const Conv1d& l, const Values& g) { return convolve_back(l, g); }
  Values backward(const Linear& l, const Values& g) { return convolve_back(l, g); }

  // ---- Layers on single values ----
  template <class F>
  Values map(F f) const {
    Values result(x().size());
    std::transform(x().begin(), x().end(), result.begin(), f);
    return result;
  }
  Values apply(const Relu&) const {
    return map([](T v) { return v > 0 ? v : T(0); });
  }
  Values backward(const Relu&, Values g) const {
    for (std::size_t i = 0; i < g.size(); ++i) {
      g[i] = x()[i] > 0 ? g[i] : T(0);
    }
    return g;
  }
  Values apply(const Elu&) const {
    return map([](T v) { return v > 0 ? v : std::expm1(v); });
  }
  Values backward(const Elu&, Values g) const {
    for (std::size_t i = 0; i < g.size(); ++i) {
      g[i] *= x()[i] > 0 ? T(1) : std::exp(x()[i]);
    }
    return g;
  }
  Values apply(const Flatten&) const { return x(); }
  Values backward(const Flatten&, Values g) const { return g; }
  Values apply(const SkipBegin&) const { return x(); }
  Values backward(const SkipBegin&, Values g) {
    for (std::size_t i = 0; i < g.size(); ++i) {
      g[i] += skipped_.back()[i];
    }
    skipped_.pop_back();
    return g;
  }
  Values apply(const SkipEnd&) const {
    std::size_t begin = at_;
    for (int open = 1; open > 0;) {
      --begin;
      open += std::holds_alternative<SkipEnd>(spec_.layers[begin]) ? 1 : 0;
      open -= std::holds_alternative<SkipBegin>(spec_.layers[begin]) ? 1 : 0;
    }
    Values result = x();
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] += values_[begin][i];
    }
    return result;
  }
  Values backward(const SkipEnd&, Values g) {
    skipped_.push_back(g);
    return g;
  }

  // ---- Pooling ----
  template <class Use>
  void windows(int size, Use use) const {
    const Place a = in();
    const Place b = out();
    each(b, [&](int n, int c, int row, int column) {
      std::vector<std::size_t> members;
      for (int r = 0; r < window_rows(size, a.shape.height); ++r) {
        for (int k = 0; k < size; ++k) {
          members.push_back(a(n, c, row * window_rows(size, a.shape.height) + r, column * size + k));
        }
      }
      use(b(n, c, row, column), members);
    });
  }
  Values apply(const AvgPool& l) const {
    Values result(static_cast<std::size_t>(samples_ * out().shape.size()));
    windows(l.size, [&](std::size_t to, const auto& members) {
      for (const std::size_t m : members) {
        result[to] += x()[m] / static_cast<T>(members.size());
      }
    });
    return result;
  }
  Values backward(const AvgPool& l, const Values& g) const {
    Values result(x().size());
    windows(l.size, [&](std::size_t to, const auto& members) {
      for (const std::size_t m : members) {
        result[m] += g[to] / static_cast<T>(members.size());
      }
    });
    return result;
  }
  [[nodiscard]] std::size_t largest(const std::vector<std::size_t>& members) const {
    return *std::max_element(members.begin(), members.end(),
                             [&](std::size_t a, std::size_t b) { return x()[a] < x()[b]; });
  }
  Values apply(const MaxPool& l) const {
    Values result(static_cast<std::size_t>(samples_ * out().shape.size()));
    windows(l.size, [&](std::size_t to, const auto& members) { result[to] = x()[largest(members)]; });
    return result;
  }
  Values backward(const MaxPool& l, const Values& g) const {
    Values result(x().size());
    windows(l.size, [&](std::size_t to, const auto& members) { result[largest(members)] += g[to]; });
    return result;
  }

  // ---- Scales and norms ----
  Values apply(const ChannelScale&) const {
    const Place a = in();
    Values result(x().size());
    const std::size_t channels = static_cast<std::size_t>(a.shape.channels);
    each(a, [&](int n, int c, int r, int k) {
      const std::size_t i = a(n, c, r, k);
      const std::size_t at = offset() + static_cast<std::size_t>(c);
      result[i] = params_[at] * x()[i] + params_[at + channels];
    });
    return result;
  }
  Values backward(const ChannelScale&, Values g) {
    const Place a = in();
    const std::size_t channels = static_cast<std::size_t>(a.shape.channels);
    each(a, [&](int n, int c, int r, int k) {
      const std::size_t i = a(n, c, r, k);
      const std::size_t at = offset() + static_cast<std::size_t>(c);
      slope_[at] += g[i] * x()[i];
      slope_[at + channels] += g[i];
      g[i] *= params_[at];
    });
    return g;
  }

  /// Values that are normalised together: a channel over the batch, or a sample over its features.
  struct Set {
    std::vector<std::size_t> members;
    std::vector<std::size_t> gains;  ///< the gain of each member; its offset lies `to_offset` further
    std::size_t to_offset = 0;
    T mean = 0;
    T variance = 0;
  };
  void measure(Set& set) const {
    for (const std::size_t m : set.members) {
      set.mean += x()[m] / static_cast<T>(set.members.size());
    }
    for (const std::size_t m : set.members) {
      set.variance += (x()[m] - set.mean) * (x()[m] - set.mean) / static_cast<T>(set.members.size());
    }
  }
  [[nodiscard]] static T inverse(const Set& set) { return T(1) / std::sqrt(set.variance + T(1e-5F)); }
  void normalise(const Set& set, Values& result) const {
    for (std::size_t i = 0; i < set.members.size(); ++i) {
      const T normal = (x()[set.members[i]] - set.mean) * inverse(set);
      result[set.members[i]] = params_[set.gains[i]] * normal + params_[set.gains[i] + set.to_offset];
    }
  }
  void normalise_back(const Set& set, const Values& g, Values& result) {
    T mean_slope = 0;
    T mean_product = 0;
    const T count = static_cast<T>(set.members.size());
    for (std::size_t i = 0; i < set.members.size(); ++i) {
      const std::size_t m = set.members[i];
      const T normal = (x()[m] - set.mean) * inverse(set);
      slope_[set.gains[i]] += g[m] * normal;
      slope_[set.gains[i] + set.to_offset] += g[m];
      mean_slope += g[m] * params_[set.gains[i]] / count;
      mean_product += g[m] * params_[set.gains[i]] * normal / count;
    }
    for (std::size_t i = 0; i < set.members.size(); ++i) {
      const std::size_t m = set.members[i];
      const T normal = (x()[m] - set.mean) * inverse(set);
      result[m] = inverse(set) * (g[m] * params_[set.gains[i]] - mean_slope - normal * mean_product);
    }
  }
  [[nodiscard]] Set channel_set(int c) const {
    Set set;
    const Place a = in();
    set.to_offset = static_cast<std::size_t>(a.shape.channels);
    each(a, [&](int n, int channel, int r, int k) {
      if (channel == c) {
        set.members.push_back(a(n, c, r, k));
        set.gains.push_back(offset() + static_cast<std::size_t>(c));
      }
    });
    return set;
  }
  Values apply(const BatchNorm&) {
    Values result(x().size());
    const auto channels = static_cast<std::size_t>(in().shape.channels);
    for (std::size_t c = 0; c < channels; ++c) {
      Set set = channel_set(static_cast<int>(c));
      T& mean = params_[offset() + 2 * channels + c];
      T& variance = params_[offset() + 3 * channels + c];
      if (training_) {
        measure(set);
        const T count = static_cast<T>(set.members.size());
        mean = T(0.9) * mean + T(0.1) * set.mean;
        variance = T(0.9) * variance + T(0.1) * set.variance * count / (count - 1);
      } else {
        set.mean = mean;
        set.variance = variance;
      }
      normalise(set, result);
    }
    params_[offset() + 4 * channels] += training_ ? T(1) : T(0);
    return result;
  }
  Values backward(const BatchNorm&, const Values& g) {
    Values result(x().size());
    for (int c = 0; c < in().shape.channels; ++c) {
      Set set = channel_set(c);
      measure(set);
      normalise_back(set, g, result);
    }
    return result;
  }
  [[nodiscard]] Set sample_set(int n) const {
    Set set;
    const auto features = static_cast<std::size_t>(in().shape.size());
    set.to_offset = features;
    for (std::size_t f = 0; f < features; ++f) {
      set.members.push_back(static_cast<std::size_t>(n) * features + f);
      set.gains.push_back(offset() + f);
    }
    measure(set);
    return set;
  }
  Values apply(const LayerNorm&) const {
    Values result(x().size());
    for (int n = 0; n < samples_; ++n) {
      normalise(sample_set(n), result);
    }
    return result;
  }
  Values backward(const LayerNorm&, const Values& g) {
    Values result(x().size());
    for (int n = 0; n < samples_; ++n) {
      normalise_back(sample_set(n), g, result);
    }
    return result;
  }

  ModelSpec spec_;
  Values params_;
  Values slope_;
  std::vector<Values> values_;   ///< values_[i] goes into layer i
  std::vector<Values> skipped_;  ///< gradients on their way to a SkipBegin
  std::vector<std::size_t> offsets_;
  std::size_t at_ = 0;
  int samples_ = 0;
  bool training_ = false;
};

}  // namespace feroma
