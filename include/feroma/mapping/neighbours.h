#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "feroma/mapping/match.h"

namespace feroma {

/**
 * The gaussian kernel's width where clients are alone with their distributions but not far from others', and where the
 * shares of their classes tell why: the same concept, mixed otherwise, as in a Dirichlet partition. The usual width is
 * sampling noise and would leave each with its own model; this one reaches the nearest other parent. Nothing where
 * somebody shares the distribution, where everybody is a stranger, or where equal class shares say that concepts
 * differ. own[r] is the column of query r's own parent, or the number of columns.
 */
[[nodiscard]] std::optional<double> width_to_neighbours(const WeightRule& rule, const Distances& distances,
                                                        std::span<const Profile> queries,
                                                        std::span<const Profile> parents,
                                                        std::span<const std::size_t> own);

/// Whether clients have the same shares of classes, up to chance: then it is their features or their concepts that
/// differ.
[[nodiscard]] bool class_shares_alike(std::span<const Profile> profiles);

}  // namespace feroma
