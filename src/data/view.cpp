#include "feroma/data/view.h"

#include <algorithm>
#include <array>

#include "feroma/core/error.h"

namespace feroma {
namespace {

constexpr auto kLanes = static_cast<std::size_t>(kBatchLanes);
constexpr float kWhite = 255.0F;

using PixelMap = std::vector<std::uint32_t>;

/// For each pixel of the turned picture, where it comes from in the stored one.
PixelMap make_pixel_map(int quarter_turns, SampleShape shape) {
  const int height = shape.height;
  const int width = shape.width;
  PixelMap map;
  map.reserve(static_cast<std::size_t>(height * width));
  for (int r = 0; r < height; ++r) {
    for (int c = 0; c < width; ++c) {
      switch (quarter_turns) {
        case 1: map.push_back(static_cast<std::uint32_t>(c * width + (width - 1 - r))); break;
        case 2: map.push_back(static_cast<std::uint32_t>((height - 1 - r) * width + (width - 1 - c))); break;
        case 3: map.push_back(static_cast<std::uint32_t>((height - 1 - c) * width + r)); break;
        default: map.push_back(static_cast<std::uint32_t>(r * width + c)); break;
      }
    }
  }
  return map;
}

const std::array<float, 256>& byte_values() {
  static const std::array<float, 256> values = [] {
    std::array<float, 256> table{};
    for (std::size_t i = 0; i < table.size(); ++i) {
      table[i] = static_cast<float>(i) / kWhite;
    }
    return table;
  }();
  return values;
}

/// One sample of the batch: its stored bytes and what happens to them.
struct Source {
  const std::uint8_t* pixels = nullptr;
  const std::uint32_t* map = nullptr;
  int tint = -1;
};

/// Everything `assemble` needs about a view, resolved once per call.
class Assembler {
 public:
  explicit Assembler(const View& view)
      : view_(view), plane_(static_cast<std::size_t>(view.shape.height * view.shape.width)) {
    const SampleShape stored = view.samples->shape;
    const bool same_plane = stored.height == view.shape.height && stored.width == view.shape.width;
    gray_source_ = stored.channels == 1;
    require(same_plane && (stored.channels == view.shape.channels || (gray_source_ && view.shape.channels == 3)),
            ErrorCode::internal, "[view] {}x{}x{} samples cannot be seen as {}x{}x{}", stored.channels, stored.height,
            stored.width, view.shape.channels, view.shape.height, view.shape.width);
  }

  [[nodiscard]] Source source(std::uint32_t position) {
    require(position < view_.size(), ErrorCode::internal, "[view] position must be below {}, got {}", view_.size(),
            position);
    const ViewItem item = view_.items[position];
    const auto label = static_cast<std::size_t>(view_.samples->labels[item.source]);
    const Transform transform = view_.recipes[item.recipe].transform_of_class[label];
    require(transform.tint >= -1 && transform.tint < view_.shape.channels, ErrorCode::internal,
            "[view] tint must be a channel below {} or -1, got {}", view_.shape.channels, transform.tint);
    const auto stored = static_cast<std::size_t>(view_.samples->shape.size());
    return {view_.samples->pixels.data() + item.source * stored, map_for(transform.quarter_turns).data(),
            transform.tint};
  }
  [[nodiscard]] std::size_t plane() const { return plane_; }
  /// Where an output channel starts in the stored sample.
  [[nodiscard]] std::size_t channel_offset(int channel) const {
    return gray_source_ ? 0 : static_cast<std::size_t>(channel) * plane_;
  }
  [[nodiscard]] bool gray_source() const { return gray_source_; }

 private:
  const PixelMap& map_for(int quarter_turns) {
    require(quarter_turns >= 0 && quarter_turns < 4, ErrorCode::internal,
            "[view] quarter turns must be in 0..3, got {}", quarter_turns);
    require(quarter_turns % 2 == 0 || view_.shape.height == view_.shape.width, ErrorCode::internal,
            "[view] only square pictures turn by 90 degrees, got {}x{}", view_.shape.height, view_.shape.width);
    PixelMap& map = maps_[static_cast<std::size_t>(quarter_turns)];
    if (map.empty()) {
      map = make_pixel_map(quarter_turns, view_.shape);
    }
    return map;
  }

  const View& view_;
  std::size_t plane_;
  bool gray_source_ = true;
  std::array<PixelMap, 4> maps_;
};

void write_sample(const Assembler& assembler, const Source& source, int channels, std::span<float> out) {
  const std::array<float, 256>& value = byte_values();
  const std::size_t plane = assembler.plane();
  for (int channel = 0; channel < channels; ++channel) {
    const std::span<float> target = out.subspan(static_cast<std::size_t>(channel) * plane, plane);
    if (channel == source.tint) {
      std::fill(target.begin(), target.end(), 1.0F);
      continue;
    }
    const std::uint8_t* pixels = source.pixels + assembler.channel_offset(channel);
    for (std::size_t p = 0; p < plane; ++p) {
      target[p] = value[pixels[source.map[p]]];
    }
  }
}

/// One row of a channel, all samples of a group side by side.
void gather_row(std::span<const Source> lanes, std::size_t channel_offset, std::size_t first, std::span<float> out) {
  const std::array<float, 256>& value = byte_values();
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    const std::uint8_t* const pixels = lanes[lane].pixels + channel_offset;
    const std::uint32_t* const map = lanes[lane].map + first;
    for (std::size_t x = 0; x < out.size() / kLanes; ++x) {
      out[x * kLanes + lane] = value[pixels[map[x]]];
    }
  }
}

/// Writes the rows of one group; lanes without a sample and border columns stay as they are (zero).
void write_group(const Assembler& assembler, std::span<const Source> lanes, SampleShape shape, int border,
                 std::span<float> out) {
  const auto width = static_cast<std::size_t>(shape.width);
  const auto height = static_cast<std::size_t>(shape.height);
  const std::size_t stride = (width + 2 * static_cast<std::size_t>(border)) * kLanes;
  const std::size_t channel_stride = height * stride;
  std::vector<float> row(width * kLanes);
  for (std::size_t y = 0; y < height; ++y) {
    for (int channel = 0; channel < shape.channels; ++channel) {
      // All channels of a gray picture share one gathered row.
      if (channel == 0 || !assembler.gray_source()) {
        gather_row(lanes, assembler.channel_offset(channel), y * width, row);
      }
      float* const to = out.data() + static_cast<std::size_t>(channel) * channel_stride + y * stride +
                        static_cast<std::size_t>(border) * kLanes;
      std::copy(row.begin(), row.end(), to);
      for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        for (std::size_t x = 0; lanes[lane].tint == channel && x < width; ++x) {
          to[x * kLanes + lane] = 1.0F;
        }
      }
    }
  }
}

}  // namespace

std::int32_t View::label(std::size_t i) const {
  const ViewItem item = items[i];
  return recipes[item.recipe].label_of_class[static_cast<std::size_t>(samples->labels[item.source])];
}

Batch assemble(const View& view, std::span<const std::uint32_t> order, BatchLayout layout, bool labelled) {
  Batch batch;
  assemble_(batch, view, order, layout, labelled);
  return batch;
}

void assemble_(Batch& batch, const View& view, std::span<const std::uint32_t> order, BatchLayout layout,
               bool labelled) {
  // Borders that were zero stay zero, so the values of a batch of the same form need not be cleared.
  if (batch.layout != layout || batch.shape != view.shape) {
    batch.inputs.clear();
  }
  batch.size = static_cast<int>(order.size());
  batch.shape = view.shape;
  batch.layout = layout;
  batch.inputs.resize(layout.size(view.shape, batch.size));
  batch.labels.clear();
  batch.targets.clear();
  batch.weights.clear();
  if (order.empty()) {
    return;
  }
  Assembler assembler(view);
  const auto sample_size = static_cast<std::size_t>(view.shape.size());
  std::vector<Source> sources;
  sources.reserve(order.size());
  for (const std::uint32_t position : order) {
    sources.push_back(assembler.source(position));
    if (labelled) {
      batch.labels.push_back(view.label(position));
    }
  }
  const std::span<float> inputs = batch.inputs;
  switch (layout.kind) {
    case BatchLayout::sample_major:
      for (std::size_t i = 0; i < sources.size(); ++i) {
        write_sample(assembler, sources[i], view.shape.channels, inputs.subspan(i * sample_size, sample_size));
      }
      break;
    case BatchLayout::sample_innermost: {
      const std::size_t group_size = layout.size(view.shape, 1);
      if (sources.size() % kLanes != 0) {  // lanes without a sample are zero
        std::fill(inputs.end() - static_cast<std::ptrdiff_t>(group_size), inputs.end(), 0.0F);
      }
      for (std::size_t first = 0; first < sources.size(); first += kLanes) {
        write_group(assembler, std::span(sources).subspan(first, std::min(kLanes, sources.size() - first)), view.shape,
                    layout.border, inputs.subspan(first / kLanes * group_size, group_size));
      }
      break;
    }
  }
}

}  // namespace feroma
