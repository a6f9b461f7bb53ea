#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "feroma/models/spec.h"

namespace feroma {

/// How latents become profile coordinates.
enum class Projection {
  orthonormal,  ///< a seeded random orthonormal map
  pca_box,      ///< PCA of noise in the clients' latent box (the paper)
  pca_cube,     ///< PCA of noise in [0, max latent]^z (the reference implementation)
};
/// Which samples of a client its profile summarises.
enum class ProfileData { held_out, train, all };
enum class Scaling { none, min_max };
enum class Counts {
  none,
  trained,   ///< examples behind the parent's model
  profiled,  ///< examples behind the current round's profile of the same client (the reference implementation)
};
/// How weights find their models: by client, or by place in an unordered list (the reference implementation's bug).
enum class Join { id, positional };
/// What an unlabelled test client gets.
enum class AssignRule { kernel, nearest };
/// What a threshold on weights is a share of: all weight, or what each parent would have if all had the same.
enum class ThresholdUnit { all, mean };
/// What a receiver's weights are called: by how many parents they amount to, or by how many are above 0 (the paper).
enum class StrategyRule { effective, support };
/// How a few labelled samples choose.
enum class FewLabelRule { loss, moments };
/// How an unlabelled client whose distribution nobody has gets its model: by profile like all others, or by how sure
/// the models are of its data.
enum class Strangers { profile, confidence };

/// Under privacy.mode paper: fresh noise for every client and round, or the same for all (the reference
/// implementation's bug: it cancels in every difference of profiles).
enum class NoiseStream { fresh, constant };

constexpr auto enum_names(Latent) {
  using enum Latent;
  return std::array<std::pair<Latent, std::string_view>, 2>{{{flatten, "flatten"}, {penultimate, "penultimate"}}};
}
constexpr auto enum_names(Projection) {
  using enum Projection;
  return std::array<std::pair<Projection, std::string_view>, 3>{
      {{orthonormal, "orthonormal"}, {pca_box, "pca_box"}, {pca_cube, "pca_cube"}}};
}
constexpr auto enum_names(ProfileData) {
  using enum ProfileData;
  return std::array<std::pair<ProfileData, std::string_view>, 3>{
      {{held_out, "held_out"}, {train, "train"}, {all, "all"}}};
}
constexpr auto enum_names(Scaling) {
  using enum Scaling;
  return std::array<std::pair<Scaling, std::string_view>, 2>{{{none, "none"}, {min_max, "min_max"}}};
}
constexpr auto enum_names(Counts) {
  using enum Counts;
  return std::array<std::pair<Counts, std::string_view>, 3>{
      {{none, "none"}, {trained, "trained"}, {profiled, "profiled"}}};
}
constexpr auto enum_names(Join) {
  using enum Join;
  return std::array<std::pair<Join, std::string_view>, 2>{{{id, "id"}, {positional, "positional"}}};
}
constexpr auto enum_names(AssignRule) {
  using enum AssignRule;
  return std::array<std::pair<AssignRule, std::string_view>, 2>{{{kernel, "kernel"}, {nearest, "nearest"}}};
}
constexpr auto enum_names(ThresholdUnit) {
  using enum ThresholdUnit;
  return std::array<std::pair<ThresholdUnit, std::string_view>, 2>{{{all, "all"}, {mean, "mean"}}};
}
constexpr auto enum_names(StrategyRule) {
  using enum StrategyRule;
  return std::array<std::pair<StrategyRule, std::string_view>, 2>{{{effective, "effective"}, {support, "support"}}};
}
constexpr auto enum_names(FewLabelRule) {
  using enum FewLabelRule;
  return std::array<std::pair<FewLabelRule, std::string_view>, 2>{{{loss, "loss"}, {moments, "moments"}}};
}
constexpr auto enum_names(Strangers) {
  using enum Strangers;
  return std::array<std::pair<Strangers, std::string_view>, 2>{{{profile, "profile"}, {confidence, "confidence"}}};
}

constexpr auto enum_names(NoiseStream) {
  using enum NoiseStream;
  return std::array<std::pair<NoiseStream, std::string_view>, 2>{{{fresh, "fresh"}, {constant, "constant"}}};
}

}  // namespace feroma
