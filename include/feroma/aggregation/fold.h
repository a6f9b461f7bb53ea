#pragma once

#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "feroma/core/parallel.h"
#include "feroma/models/parameters.h"

namespace feroma {

/// How several weighted models become one.
enum class Fold {
  mean,
  median,   ///< of every parameter by itself, by weight
  trimmed,  ///< the mean of every parameter without the extreme weight on either side
  krum,     ///< the one model that most of the weight is nearest to (Blanchard et al., 2017)
};
constexpr auto enum_names(Fold) {
  using enum Fold;
  return std::array<std::pair<Fold, std::string_view>, 4>{
      {{mean, "mean"}, {median, "median"}, {trimmed, "trimmed"}, {krum, "krum"}}};
}

struct FoldRule {
  Fold fold = Fold::mean;
  double trim = 0.25;  ///< weight that may be bad: cut at either end (trimmed), left out of the nearest (krum)
};

/// One model per row of `weights` (rows x sources, row-major), like mix(). The others than the mean bear a share of
/// weight on models that lie: below a half for the median, below `trim` for the others.
[[nodiscard]] std::vector<Parameters> fold_models(const FoldRule& rule, std::span<const ParametersPtr> sources,
                                                  std::span<const float> weights, const Parallel& parallel = in_turn);

}  // namespace feroma
