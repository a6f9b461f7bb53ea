#pragma once

#include <hwy/aligned_allocator.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/native/plan.h"
#include "engine/native/value_kernels.h"

namespace feroma::detail {

/// Floats on a vector boundary, zero at first.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(std::size_t size);
  [[nodiscard]] float* data() const { return values_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  void clear_();

 private:
  hwy::AlignedFreeUniquePtr<float[]> values_;
  std::size_t size_ = 0;
};

/// Training normalises with the batch's own statistics, evaluation with the running ones; measuring is evaluation that
/// keeps the batch's own.
enum class Mode { train, evaluate, measure };

/// Runs a plan over groups of 16 samples. Owns the activations and gradients, which are kept between passes.
class Network {
 public:
  explicit Network(Plan plan);

  [[nodiscard]] const Plan& plan() const { return plan_; }
  /// Makes room for a pass over so many samples.
  void begin(int samples);
  /// Reads the samples of the pass from here: groups of [channel][row][column][16] with the first tensor's border.
  void set_input(std::span<const float> groups) { input_ = groups.data(); }
  void forward(std::span<const float> params, Mode mode) { forward(params, mode, plan_.steps.size()); }
  /// The first `steps` of it.
  void forward(std::span<const float> params, Mode mode, std::size_t steps);
  /// A tensor's values of one group, [feature][16]; only packed tensors can be read.
  [[nodiscard]] std::span<const float> packed(std::size_t tensor, int group) const;
  /// Where the gradient of a packed tensor behind the first weights goes, [feature][16] of one group.
  [[nodiscard]] std::span<float> packed_gradient(std::size_t tensor, int group);
  /// A gradient [feature][16] of one group that `backward` adds when it reaches the tensor.
  void inject(std::size_t tensor, int group, std::span<const float> values);

  /// The next `backward` is the first of this gradient.
  void begin_gradient(std::span<float> gradient);
  /// Adds the gradient of the samples that went through `forward` last.
  void backward(std::span<const float> params);
  /// Writes what of the gradient is still in sums.
  void finish_gradient() const;
  /// Moves the running statistics towards those of the last batch.
  void update_buffers(std::span<float> params) const;
  /// Writes the statistics of the last batch that was measured over the running ones.
  void replace_statistics(std::span<float> params) const;

 private:
  /// Steps that follow one another and run group by group, so that a group's activations stay in the cache.
  struct Run {
    std::size_t begin;
    std::size_t end;
    bool by_group;
  };
  struct Values {
    AlignedFloats floats;
    std::size_t group_stride = 0;  ///< 0: the groups take turns in one place
  };
  struct Sums {
    AlignedFloats weights;  ///< convolve: [weight][16] or [output][tap][padded input]; linear: [output][padded input],
                            ///< empty where nothing has to be padded: that goes into the gradient at once
    AlignedFloats biases;   ///< [output][16]
    AlignedFloats transposed;  ///< inputs with the features innermost
    bool wide = false;         ///< convolve: the second layout of `weights`
  };
  struct Norm {
    std::vector<float> means;  ///< of the last batch, per channel
    std::vector<float> variances;
    std::vector<float> gains;  ///< what the channel was multiplied by
    std::vector<float> offsets;
    std::vector<float> batch_means;  ///< measure: of the batch, while `means` and `variances` are the running ones
    std::vector<float> batch_variances;
    std::vector<float> mean_gradients;  ///< of the running statistics; empty where the batch's own were used
    std::vector<float> variance_gradients;
    AlignedFloats sums;        ///< [channel][16]
    AlignedFloats statistics;  ///< layer_norm: [group][2][16]
  };
  struct Injection {
    std::size_t tensor = 0;
    AlignedFloats values;  ///< [group][feature][16]
    bool active = false;
  };

  // ---- Memory ----
  void make_runs();
  void allocate(int count);
  void allocate_step(std::size_t step, std::size_t groups);
  [[nodiscard]] bool keeps_activation(std::size_t tensor) const;
  [[nodiscard]] bool keeps_gradient(std::size_t tensor) const;
  [[nodiscard]] bool pools_at_once(std::size_t step) const;
  [[nodiscard]] bool unpools_at_once(std::size_t step) const;
  [[nodiscard]] bool remembers_blocked(std::size_t step) const;

  // ---- Places ----
  [[nodiscard]] float* activation(std::size_t tensor, int group) const;
  [[nodiscard]] float* gradient(std::size_t tensor, int group) const;
  [[nodiscard]] Picture in_picture(std::size_t step, int group) const;
  [[nodiscard]] Picture out_picture(std::size_t step, int group) const;
  [[nodiscard]] Picture in_gradient(std::size_t step, int group) const;
  [[nodiscard]] Picture out_gradient(std::size_t step, int group) const;
  [[nodiscard]] Extent extent(std::size_t step) const { return plan_.tensors[step].as_input().extent; }
  [[nodiscard]] const float* mask(std::size_t step, int group) const;
  [[nodiscard]] Blocked blocked(std::size_t step, int group);
  [[nodiscard]] Pooling pooling(std::size_t step) const;
  [[nodiscard]] int lanes_of(int group) const;

  // ---- Steps ----
  void forward_step(std::size_t step, int group, std::span<const float> params, Mode mode);
  [[nodiscard]] Correlation convolution_task(std::size_t step, int group, std::span<const float> params) const;
  [[nodiscard]] KernelGradient kernel_gradient_task(std::size_t step, int group) const;
  void forward_pooled(std::size_t step, int group, std::span<const float> params);
  void forward_linear(std::size_t step, std::span<const float> params);
  void forward_scale(std::size_t step, int group, std::span<const float> params);
  void forward_batch_norm(std::size_t step, std::span<const float> params, Mode mode);
  void measure_batch(std::size_t step);
  void forward_layer_norm(std::size_t step, int group, std::span<const float> params);
  void backward_step(std::size_t step, int group, std::span<const float> params);
  void backward_values(std::size_t step, int group, std::span<const float> params);
  void join_gradients(std::size_t step, int group);
  void backward_pooled(std::size_t step, int group);
  void backward_convolve(std::size_t step, int group, std::span<const float> params);
  void add_wide_gradient(std::size_t step, int group);
  void backward_linear(std::size_t step, std::span<const float> params);
  void backward_scale(std::size_t step, int group, std::span<const float> params);
  void backward_batch_norm(std::size_t step);
  void backward_layer_norm(std::size_t step, int group, std::span<const float> params);
  [[nodiscard]] Correlation linear_task(std::size_t step) const;
  [[nodiscard]] double values_per_channel(std::size_t step) const;

  Plan plan_;
  std::vector<Run> runs_;
  std::vector<Values> activations_;                 ///< one per tensor
  std::vector<Values> gradients_;                   ///< one per tensor, empty where no gradient goes
  std::vector<Sums> sums_;                          ///< one per step
  std::vector<Norm> norms_;                         ///< one per step
  std::vector<std::vector<std::uint8_t>> blocked_;  ///< one per step: where the ReLU before a pooling step said no
  Injection injection_;
  int capacity_ = 0;  ///< groups there is memory for
  const float* input_ = nullptr;
  std::span<float> result_;  ///< the gradient that is being made
  bool first_pass_ = true;
  Mode mode_ = Mode::train;  ///< of the last forward pass
  int samples_ = 0;
  int groups_ = 0;
};

/// Channels from which a convolution's weight gradient runs with the channels in the vectors.
constexpr int kWideChannels = 16;
/// Features rounded up to whole vectors of 16.
[[nodiscard]] std::size_t padded_features(std::size_t features);

}  // namespace feroma::detail
