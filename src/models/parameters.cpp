#include "feroma/models/parameters.h"

#include <algorithm>
#include <cmath>

#include "feroma/core/error.h"

namespace feroma {

void ParamLayout::add(std::string name, SegmentKind kind, std::vector<std::int64_t> shape) {
  std::size_t count = 1;
  for (const std::int64_t extent : shape) {
    require(extent >= 1, ErrorCode::internal, "[layout] every extent of {} must be >= 1, got {}", name, extent);
    count *= static_cast<std::size_t>(extent);
  }
  segments.push_back({std::move(name), kind, std::move(shape), size, count});
  size += count;
}

Parameters::Parameters(std::shared_ptr<const ParamLayout> layout) : layout_(std::move(layout)) {
  require(layout_ != nullptr, ErrorCode::internal, "[parameters] a model needs a layout, got none");
  values_.resize(layout_->size);
}

Parameters Parameters::clone() const {
  Parameters copy;
  copy.layout_ = layout_;
  copy.values_ = values_;
  return copy;
}

std::span<float> Parameters::segment(std::size_t i) {
  const std::span<const float> found = std::as_const(*this).segment(i);
  return values().subspan(static_cast<std::size_t>(found.data() - values_.data()), found.size());
}

std::span<const float> Parameters::segment(std::size_t i) const {
  const std::size_t count = layout_ == nullptr ? 0 : layout_->segments.size();
  require(i < count, ErrorCode::internal, "[parameters] the model has {} segments, got index {}", count, i);
  const Segment& segment = layout_->segments[i];
  return values().subspan(segment.offset, segment.size);
}

bool Parameters::all_finite() const {
  return std::all_of(values_.begin(), values_.end(), [](float value) { return std::isfinite(value); });
}

}  // namespace feroma
