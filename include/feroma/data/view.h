#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "feroma/core/batch.h"
#include "feroma/data/dataset.h"
#include "feroma/data/scale.h"

namespace feroma {

/// Quarter turns counter-clockwise, then an optional saturated colour channel.
struct Transform {
  int quarter_turns = 0;  ///< 0..3
  int tint = -1;          ///< channel set to 1.0, or -1 for none
  friend bool operator==(const Transform&, const Transform&) = default;
};

/// How one distribution turns a stored sample into what the client sees; both tables are indexed by source class.
struct Recipe {
  std::vector<Transform> transform_of_class;
  std::vector<std::int32_t> label_of_class;
  friend bool operator==(const Recipe&, const Recipe&) = default;
};

/// One sample of a view: where it is stored and which recipe it goes through.
struct ViewItem {
  std::uint32_t source = 0;
  std::uint32_t recipe = 0;
  friend bool operator==(const ViewItem&, const ViewItem&) = default;
};

/**
 * A client's data: indices into a split plus recipes. Costs eight bytes a sample, never an image.
 * `samples` and `scales` are borrowed from whoever holds them, which outlives every view; so are `recipes`, unless
 * `kept_recipes` keeps them: some are made for one client alone.
 */
struct View {
  const Samples* samples = nullptr;
  std::span<const Recipe> recipes;
  SampleShape shape;  ///< what the client sees (a gray picture becomes 3 channels where tints exist)
  std::vector<ViewItem> items;
  std::shared_ptr<const std::vector<Recipe>> kept_recipes = nullptr;  ///< shared by the copies of a view
  std::span<const InputScale> scales = {};  ///< of the shape's values, applied last; none leave them as they are

  [[nodiscard]] std::size_t size() const { return items.size(); }
  [[nodiscard]] std::int32_t label(std::size_t i) const;
  /// Multi-label data: one byte per class, 1 where the sample has the label; empty for all other data.
  [[nodiscard]] std::span<const std::uint8_t> targets(std::size_t i) const;
};

/// The same samples, brought to a model's scale.
[[nodiscard]] View with_scales(View view, std::span<const InputScale> scales);

/// The targets of every sample of multi-label data, one row each, as numbers.
[[nodiscard]] std::vector<float> targets_of(const View& view);

/// Writes items[order[i]] for i in order into a batch of the given layout, straight from what is stored.
/// Multi-label data fill the batch's targets, all others its labels; `labelled` false leaves both empty (test clients
/// have none).
[[nodiscard]] Batch assemble(const View& view, std::span<const std::uint32_t> order, BatchLayout layout,
                             bool labelled = true);
/// The same into a batch whose memory is used again.
void assemble_(Batch& batch, const View& view, std::span<const std::uint32_t> order, BatchLayout layout,
               bool labelled = true);

}  // namespace feroma
