#include "algorithms/batch_rows.h"

namespace feroma {
namespace {

/// Calls `use` with the place of every value of a sample in the batch, in the order of a row.
template <class Use>
void for_each_place(const Batch& batch, int sample, Use use) {
  const auto size = static_cast<std::size_t>(batch.shape.size());
  if (batch.layout.kind == BatchLayout::sample_major) {
    for (std::size_t i = 0; i < size; ++i) {
      use(i, static_cast<std::size_t>(sample) * size + i);
    }
    return;
  }
  const std::size_t group = batch.layout.size(batch.shape, 1);
  const std::size_t start = static_cast<std::size_t>(sample / kBatchLanes) * group +
                            static_cast<std::size_t>(batch.layout.border * kBatchLanes + sample % kBatchLanes);
  const auto width = static_cast<std::size_t>(batch.shape.width);
  const std::size_t line = width + 2 * static_cast<std::size_t>(batch.layout.border);
  for (std::size_t first = 0, at = start; first < size; first += width, at += line * kBatchLanes) {
    for (std::size_t column = 0; column < width; ++column) {
      use(first + column, at + column * kBatchLanes);
    }
  }
}

}  // namespace

std::vector<float> rows_of(const Batch& batch) {
  const auto size = static_cast<std::size_t>(batch.shape.size());
  std::vector<float> rows(static_cast<std::size_t>(batch.size) * size);
  for (int sample = 0; sample < batch.size; ++sample) {
    float* const row = rows.data() + static_cast<std::size_t>(sample) * size;
    for_each_place(batch, sample, [&](std::size_t i, std::size_t place) { row[i] = batch.inputs[place]; });
  }
  return rows;
}

Batch with_rows(const Batch& batch, std::span<const float> rows, std::span<const std::int32_t> labels) {
  Batch joined;
  joined.size = batch.size + static_cast<int>(labels.size());
  joined.shape = batch.shape;
  joined.layout = batch.layout;
  joined.inputs.reserve(joined.layout.size(joined.shape, joined.size));
  joined.inputs = batch.inputs;
  joined.inputs.resize(joined.layout.size(joined.shape, joined.size), 0.0F);
  joined.labels = batch.labels;
  joined.labels.insert(joined.labels.end(), labels.begin(), labels.end());
  const auto size = static_cast<std::size_t>(batch.shape.size());
  for (std::size_t more = 0; more < labels.size(); ++more) {
    const float* const row = rows.data() + more * size;
    for_each_place(joined, batch.size + static_cast<int>(more),
                   [&](std::size_t i, std::size_t place) { joined.inputs[place] = row[i]; });
  }
  return joined;
}

}  // namespace feroma
