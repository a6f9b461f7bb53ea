#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "feroma/report/paper_table.h"

namespace feroma::detail {

/// A model whose cost the paper states: what it is called there and here, and how many numbers it really sends.
struct CostModel {
  std::string_view variant;         ///< "LeNet5 62K"
  std::string_view dataset;         ///< ours
  std::string_view model;           ///< ours; empty where we have none, and the figure is analytic only
  std::int64_t numbers = 0;         ///< weights, and BatchNorm statistics where it has them
  std::int64_t profile_floats = 0;  ///< of the paper's profile: 2 l (1 + classes), l = 10
};
[[nodiscard]] const std::vector<CostModel>& cost_models();

/// ViT-B/16 at 224 x 224 pixels with one linear head.
[[nodiscard]] constexpr std::int64_t vit_b16_parameters(std::int64_t classes) {
  constexpr std::int64_t kWidth = 768;
  constexpr std::int64_t kHidden = 3072;
  constexpr std::int64_t kPatch = 16;
  constexpr std::int64_t kTokens = (224 / kPatch) * (224 / kPatch) + 1;
  constexpr std::int64_t kEmbedding = kPatch * kPatch * 3 * kWidth + kWidth + kWidth + kTokens * kWidth;
  constexpr std::int64_t kAttention = kWidth * 3 * kWidth + 3 * kWidth + kWidth * kWidth + kWidth;
  constexpr std::int64_t kMlp = kWidth * kHidden + kHidden + kHidden * kWidth + kWidth;
  constexpr std::int64_t kNorm = 2 * kWidth;
  return kEmbedding + 12 * (kAttention + kMlp + 2 * kNorm) + kNorm + kWidth * classes + classes;
}

/// Whether a result is one of those that the table measures.
[[nodiscard]] bool is_in_cost_table(const RunEntry& run, const OurResult& result);

/// Measured bytes of our runs and those computed from parameter counts, beside what the paper states.
void fill_cost_table(const std::vector<PublishedFigure>& published, const RunSet& set,
                     const std::vector<OurResult>& results, PaperTable& table);

}  // namespace feroma::detail
