#pragma once

#include <hwy/aligned_allocator.h>

#include <cstdint>
#include <span>
#include <vector>

#include "engine/native/plan.h"

namespace feroma::detail {

/// Floats on a vector boundary, zero at first.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(std::size_t size);
  [[nodiscard]] float* data() const { return values_.get(); }
  void clear_();

 private:
  hwy::AlignedFreeUniquePtr<float[]> values_;
  std::size_t size_ = 0;
};

/// Runs a plan over blocks of up to 64 samples. Owns all working memory; a step allocates nothing.
class Network {
 public:
  explicit Network(Plan plan);

  [[nodiscard]] const Plan& plan() const { return plan_; }
  /// Takes one block of the batch layout [channel][row][column][64], of which `groups` groups of 16 lanes are in use.
  void set_input(std::span<const float> block, int groups);
  void forward(std::span<const float> params);
  /// A tensor's values of one group, [feature][16]; only packed tensors can be read.
  [[nodiscard]] std::span<const float> packed(std::size_t tensor, int group) const;
  /// Where the gradient of the logits of one group goes, [class][16].
  [[nodiscard]] std::span<float> logit_gradient(int group);

  void clear_sums();
  /// Adds the gradient of the block that went through `forward` last.
  void backward(std::span<const float> params);
  /// Writes the summed gradient.
  void finish_gradient(std::span<float> gradient) const;

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
    AlignedFloats weights;     ///< convolve: [weight][16]; linear: [output][padded input]
    AlignedFloats biases;      ///< [output][16]
    AlignedFloats transposed;  ///< linear: [sample][padded input]
  };

  void make_runs();
  [[nodiscard]] float* activation(std::size_t tensor, int group) const;
  [[nodiscard]] float* gradient(std::size_t tensor, int group) const;
  [[nodiscard]] const float* mask(std::size_t step, int group) const;
  [[nodiscard]] bool remembers_blocked(std::size_t step) const;
  [[nodiscard]] std::uint8_t* blocked(std::size_t step, int group);
  [[nodiscard]] Correlation linear_task(std::size_t step) const;
  [[nodiscard]] Pooling pooling(std::size_t step) const;

  void forward_step(std::size_t step, int group, std::span<const float> params);
  void forward_linear(std::size_t step, std::span<const float> params);
  void backward_step(std::size_t step, int group, std::span<const float> params);
  void backward_convolve(std::size_t step, int group, std::span<const float> params);
  void backward_linear(std::size_t step, std::span<const float> params);
  void transpose_input(std::size_t step);

  Plan plan_;
  std::vector<Run> runs_;
  std::vector<Values> activations_;                 ///< one per tensor
  std::vector<Values> gradients_;                   ///< one per tensor, empty where no gradient goes
  std::vector<Sums> sums_;                          ///< one per step
  std::vector<std::vector<std::uint8_t>> blocked_;  ///< one per step: where the ReLU before a pooling step said no
  int groups_ = 0;
};

}  // namespace feroma::detail
