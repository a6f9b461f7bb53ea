#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "feroma/core/rng.h"
#include "feroma/profile/moments.h"

namespace feroma {

/// Monte-Carlo subsampling of a client's rows before the moments are taken.
enum class Subsampling {
  off,
  bernoulli,  ///< coin-flip masks, moments per mask, averaged (the paper)
  halves,     ///< random halves without replacement, concatenated (the reference implementation)
};
constexpr auto enum_names(Subsampling) {
  using enum Subsampling;
  return std::array<std::pair<Subsampling, std::string_view>, 3>{
      {{off, "off"}, {bernoulli, "bernoulli"}, {halves, "halves"}}};
}

/// What stands where a class has too few samples.
enum class MissingClass {
  mask,       ///< zeros, and the class prior says that it is absent
  minus_one,  ///< -1 in every entry, compared like a real value (the reference implementation)
  zero,       ///< 0 in every entry, compared like a real value
};
constexpr auto enum_names(MissingClass) {
  using enum MissingClass;
  return std::array<std::pair<MissingClass, std::string_view>, 3>{
      {{mask, "mask"}, {minus_one, "minus_one"}, {zero, "zero"}}};
}

/// Lengths of a profile's blocks. The label-free part comes first, so a prefix of the vector is a valid profile.
struct ProfileShape {
  int marginal = 0;     ///< coordinates of the label-free moments
  int conditional = 0;  ///< coordinates of each class's moments
  int classes = 0;
  bool priors = false;  ///< class shares at the end
  /// The label-free moments are of activations, never below 0 and mostly 0 where they are rare: their spreads are far
  /// noisier than those of other numbers.
  bool activations = false;
  bool variances = false;  ///< spreads are variances, not deviations

  [[nodiscard]] std::size_t label_free_size() const { return 2 * static_cast<std::size_t>(marginal); }
  [[nodiscard]] std::size_t size() const {
    return label_free_size() + static_cast<std::size_t>(classes) * (2 * static_cast<std::size_t>(conditional)) +
           (priors ? static_cast<std::size_t>(classes) : 0);
  }
  friend bool operator==(const ProfileShape&, const ProfileShape&) = default;
};

/// Summary of a client's data: label-free moments, moments per class, class shares.
struct Profile {
  Moments marginal;
  std::vector<Moments> per_class;
  std::vector<float> prior;      ///< share of each class; 0 where it is absent
  std::int64_t num_samples = 0;  ///< rows behind it; sets how noisy it is
  /// Variance of what was added on purpose, in the order of `encode`; empty: nothing was.
  std::vector<float> added_noise = {};

  friend bool operator==(const Profile&, const Profile&) = default;
};

struct ProfileRule {
  Subsampling subsampling = Subsampling::off;
  int replicates = 3;  ///< masks or halves
  MissingClass missing = MissingClass::mask;
  int least_samples = 2;  ///< a class with fewer is missing
  SpreadKind spread = SpreadKind::deviation;
};

/// What is known of the rows' classes: one each, or for multi-label data any number of them; nothing where unlabelled.
struct RowLabels {
  std::span<const std::int32_t> classes = {};  ///< one per row
  std::span<const float> targets = {};         ///< rows x classes, 1 where the row has the label

  [[nodiscard]] bool empty() const { return classes.empty() && targets.empty(); }
};

/// The profile of projected rows. The label-free block does not look at `labels`.
[[nodiscard]] Profile make_profile(const Rows& marginal, const Rows& conditional, const RowLabels& labels, int classes,
                                   const ProfileRule& rule, Rng rng);

/// One vector on the wire: [mean, std, then per class mean, std, then priors].
[[nodiscard]] std::vector<float> encode(const Profile& profile, const ProfileShape& shape);
/// Reads it back; another length or a value that is not finite is an invalid_data error.
[[nodiscard]] Profile decode(std::span<const float> values, const ProfileShape& shape, std::int64_t num_samples);

}  // namespace feroma
