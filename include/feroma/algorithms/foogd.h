#pragma once

#include <memory>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/local_training.h"

namespace feroma {

/// What the second copy of every batch looks like.
enum class Augmentation { amplitude, none };
constexpr auto enum_names(Augmentation) {
  using enum Augmentation;
  return std::array<std::pair<Augmentation, std::string_view>, 2>{{{amplitude, "amplitude"}, {none, "none"}}};
}

/// What the score network answers for a latent with noise of deviation sigma: the score, or the score times sigma.
enum class ScoreTarget { score, scaled };
constexpr auto enum_names(ScoreTarget) {
  using enum ScoreTarget;
  return std::array<std::pair<ScoreTarget, std::string_view>, 2>{{{score, "score"}, {scaled, "scaled"}}};
}

/// What of the Stein discrepancy's kernel the gradient follows.
enum class KernelGradients {
  follow,    ///< all of it
  constant,  ///< the kernel itself; its derivatives within the discrepancy count as constants
  trace,     ///< that and the trace of its second derivatives; the first ones count as constants
};
constexpr auto enum_names(KernelGradients) {
  using enum KernelGradients;
  return std::array<std::pair<KernelGradients, std::string_view>, 3>{
      {{follow, "follow"}, {constant, "constant"}, {trace, "trace"}}};
}

/**
 * FOOGD (Liao et al., NeurIPS 2024): one global model, and beside it a small network that learns the score of
 * everybody's latents. Latents of a batch and of an augmented copy of it are held to that density by a kernel Stein
 * discrepancy.
 */
struct FoogdOptions {
  MomentumChoice momentum_reset = MomentumChoice::inherit;
  double stein_weight = 0.05;
  double sample_weight = 0.1;
  Augmentation augment = Augmentation::amplitude;
  double amplitude_share = 1;
  int score_width = 64;
  double score_rate = 0.01;
  ScoreTarget score_target = ScoreTarget::score;
  double smallest_noise = 0.01;
  double largest_noise = 1;
  double smallest_kernel = 1;
  KernelGradients kernel_gradients = KernelGradients::constant;
  int samples = 16;
  int sampler_steps = 10;
  double sampler_rate = 0.01;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the momentum buffer restarts; inherit takes [training]'s");
    visit(
        "stein_weight", self.stein_weight, at_least(0),
        "weight of the Stein discrepancy between latents and their learned density; lambda1 of the paper, 0 where the "
        "public code is run as it is");
    visit("sample_weight", self.sample_weight, at_least(0),
          "weight of the distance between latents and samples of the score network; lambda2 of the paper, 0 in the "
          "public code");
    visit("augment", self.augment, anything(),
          "each picture's copy with Fourier amplitudes of another one, or no copy: half the work, and all data");
    visit("amplitude_share", self.amplitude_share, between(0, 1), "largest share of the other picture's amplitudes");
    visit("score_width", self.score_width, at_least(1),
          "hidden units of the score network; the public code has 1024, which would cost far more than the model");
    visit("score_rate", self.score_rate, above(0), "learning rate of the score network");
    visit("score_target", self.score_target, anything(),
          "what the network learns: the score, or as in the public code one scaled by the noise");
    visit("smallest_noise", self.smallest_noise, above(0), "deviation of the least noise that scores are learned from");
    visit("largest_noise", self.largest_noise, above(0), "of the most; as many levels between them as classes");
    visit("smallest_kernel", self.smallest_kernel, above(0),
          "least width of the Stein kernel: among the equal latents of a fresh model the discrepancy would blow up");
    visit(
        "kernel_gradients", self.kernel_gradients, anything(),
        "the Stein kernel's derivatives within the discrepancy: take them as constant, all but the trace of the second "
        "ones as in the public code, or follow them");
    visit("samples", self.samples, at_least(2),
          "samples of the score network per batch; the public code draws a whole batch, which takes most of the time");
    visit("sampler_steps", self.sampler_steps, at_least(1), "Langevin steps of a sample");
    visit("sampler_rate", self.sampler_rate, above(0), "length of a Langevin step");
  }
  void check(const FoogdOptions& preset, Problems& problems, const std::string& where) const;
};

[[nodiscard]] std::unique_ptr<Algorithm> make_foogd(const FoogdOptions& options);

}  // namespace feroma
