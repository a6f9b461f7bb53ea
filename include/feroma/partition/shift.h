#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "feroma/core/batch.h"

namespace feroma {

/**
 * What differs between clients: a part of P(X, Y), how much they have, or who owns what. Published ANDA swaps the two
 * conditionals; its names need the prefix. "a+b" is both at once.
 */
enum class Shift {
  covariate,
  label_prior,
  concept_label,
  concept_feature,
  quantity,
  covariate_and_label_prior,
  concept_label_and_label_prior,
  concept_feature_and_label_prior,
  covariate_and_quantity,
  label_prior_and_quantity,
  concept_label_and_quantity,
  concept_feature_and_quantity,
  natural,
  iid,
  dirichlet,
  pathological,
  shard,
  natural_id,
};
constexpr auto enum_names(Shift) {
  using enum Shift;
  using Name = std::pair<Shift, std::string_view>;
  return std::array{Name{covariate, "covariate"},
                    Name{label_prior, "label_prior"},
                    Name{concept_label, "concept_label"},
                    Name{concept_feature, "concept_feature"},
                    Name{quantity, "quantity"},
                    Name{covariate_and_label_prior, "covariate+label_prior"},
                    Name{concept_label_and_label_prior, "concept_label+label_prior"},
                    Name{concept_feature_and_label_prior, "concept_feature+label_prior"},
                    Name{covariate_and_quantity, "covariate+quantity"},
                    Name{label_prior_and_quantity, "label_prior+quantity"},
                    Name{concept_label_and_quantity, "concept_label+quantity"},
                    Name{concept_feature_and_quantity, "concept_feature+quantity"},
                    Name{natural, "natural"},
                    Name{iid, "iid"},
                    Name{dirichlet, "dirichlet"},
                    Name{pathological, "pathological"},
                    Name{shard, "shard"},
                    Name{natural_id, "natural_id"},
                    Name{covariate, "P(X)"},
                    Name{label_prior, "P(Y)"},
                    Name{concept_label, "P(Y|X)"},
                    Name{concept_feature, "P(X|Y)"},
                    Name{covariate, "anda2024:Px"},
                    Name{label_prior, "anda2024:Py"},
                    Name{concept_label, "anda2024:Px_y"},
                    Name{concept_feature, "anda2024:Py_x"},
                    Name{covariate, "anda2024:feature_skew"},
                    Name{label_prior, "anda2024:label_skew"},
                    Name{concept_label, "anda2024:feature_condition_skew"},
                    Name{concept_feature, "anda2024:label_condition_skew"},
                    Name{quantity, "anda2024:split_unbalanced"}};
}

/// The part of a mixture that changes samples: covariate, concept_label or concept_feature; iid where none does.
[[nodiscard]] Shift appearance_of(Shift shift);
/// Whether clients have classes in different proportions because of P(Y), alone or in a mixture.
[[nodiscard]] bool skews_labels(Shift shift);
/// Whether clients have different amounts of data on purpose.
[[nodiscard]] bool has_unequal_sizes(Shift shift);
/// One of the four parts of P(X, Y), alone.
[[nodiscard]] bool is_single(Shift shift);
/// Whether clients can go from one distribution to another; partitions and mixtures stay as they are.
[[nodiscard]] bool may_drift(Shift shift);
/// Whether all clients see the same P(X, Y).
[[nodiscard]] bool is_one_distribution(Shift shift);
/// Whether pictures are turned and tinted; then all of them are seen in colour.
[[nodiscard]] bool changes_pictures(Shift shift);
/// Whether samples are pictures that can be turned and tinted: square ones of 1 or 3 channels.
[[nodiscard]] bool can_be_turned(SampleShape shape);
/// Whether the class of a sample matters, so that multi-label data cannot be shifted this way.
[[nodiscard]] bool reads_labels(Shift shift);

}  // namespace feroma
