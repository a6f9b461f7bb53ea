#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace feroma {

/// What a segment of the parameter buffer holds; buffers travel and are averaged, but are not trained.
enum class SegmentKind { weight, bias, affine, buffer };

/// One named tensor inside the flat buffer.
struct Segment {
  std::string name;
  SegmentKind kind = SegmentKind::weight;
  std::vector<std::int64_t> shape;
  std::size_t offset = 0;
  std::size_t size = 0;
  friend bool operator==(const Segment&, const Segment&) = default;
};

/// The segments of a model in state-dict order, back to back.
struct ParamLayout {
  std::vector<Segment> segments;
  std::size_t size = 0;

  void add(std::string name, SegmentKind kind, std::vector<std::int64_t> shape);
  friend bool operator==(const ParamLayout&, const ParamLayout&) = default;
};

/**
 * A model's weights and buffers: one contiguous float32 buffer and the layout that names its parts.
 * Copies are explicit (`clone`), because a model is the largest value that moves around.
 */
class Parameters {
 public:
  Parameters() = default;
  explicit Parameters(std::shared_ptr<const ParamLayout> layout);
  Parameters(Parameters&&) noexcept = default;
  Parameters& operator=(Parameters&&) noexcept = default;
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  [[nodiscard]] Parameters clone() const;
  [[nodiscard]] std::span<float> values() { return values_; }
  [[nodiscard]] std::span<const float> values() const { return values_; }
  [[nodiscard]] std::span<float> segment(std::size_t i);
  [[nodiscard]] std::span<const float> segment(std::size_t i) const;
  [[nodiscard]] const ParamLayout& layout() const { return *layout_; }
  /// Shared because every model of a run has the same layout.
  [[nodiscard]] const std::shared_ptr<const ParamLayout>& shared_layout() const { return layout_; }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] bool all_finite() const;

 private:
  std::shared_ptr<const ParamLayout> layout_;
  std::vector<float> values_;
};

/// An immutable model. Shared because one model is sent to many clients and kept by server and store alike.
using ParametersPtr = std::shared_ptr<const Parameters>;

[[nodiscard]] inline ParametersPtr share(Parameters params) {
  return std::make_shared<const Parameters>(std::move(params));
}

}  // namespace feroma
