#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "feroma/mapping/matrix.h"

namespace feroma {

/// How far two groups are apart: as their farthest members, or as their nearest.
enum class Linkage { complete, single };
constexpr auto enum_names(Linkage) {
  using enum Linkage;
  return std::array<std::pair<Linkage, std::string_view>, 2>{{{complete, "complete"}, {single, "single"}}};
}

/**
 * Agglomerative clustering: the two nearest groups become one, again and again. Ties go to the lowest items. The result
 * has one group number per item, groups numbered in the order of their lowest items. `distances` is symmetric and has
 * no NaN; the upper triangle is read.
 */
/// Stops at `groups` groups, or where there are fewer items.
[[nodiscard]] std::vector<std::size_t> link_into(const Matrix& distances, Linkage linkage, std::size_t groups);
/// Stops where the two nearest groups are farther apart than `cut`.
[[nodiscard]] std::vector<std::size_t> link_within(const Matrix& distances, Linkage linkage, double cut);

}  // namespace feroma
