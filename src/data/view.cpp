#include "feroma/data/view.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "data/lane_kernels.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

using detail::LaneScale;
using detail::PlaneTarget;
using detail::TurnedLanes;
using detail::Walk;

constexpr auto kLanes = static_cast<std::size_t>(kBatchLanes);
constexpr float kWhite = 255.0F;

Walk make_walk(int quarter_turns, SampleShape shape) {
  require(quarter_turns >= 0 && quarter_turns < 4, ErrorCode::internal, "[view] quarter turns must be in 0..3, got {}",
          quarter_turns);
  require(quarter_turns % 2 == 0 || shape.height == shape.width, ErrorCode::internal,
          "[view] only square pictures turn by 90 degrees, got {}x{}", shape.height, shape.width);
  const std::ptrdiff_t height = shape.height;
  const std::ptrdiff_t width = shape.width;
  switch (quarter_turns) {
    case 1: return {width - 1, -1, width};
    case 2: return {height * width - 1, -width, -1};
    case 3: return {(height - 1) * width, 1, -width};
    default: return {0, width, 1};
  }
}

float number(std::uint8_t byte) { return static_cast<float>(byte) / kWhite; }
float number(float value) { return value; }

template <class Stored>
const Stored* inputs_of(const Samples& samples) {
  if constexpr (std::is_same_v<Stored, float>) {
    return samples.values.data();
  } else {
    return samples.pixels.data();
  }
}

/// One sample of the batch: its stored values and what happens to them.
template <class Stored>
struct Source {
  const Stored* stored = nullptr;
  Walk walk;
  int tint = -1;
};

/// Everything `assemble` needs about a view, resolved once per call.
template <class Stored>
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
    require(view.scales.empty() || view.scales.size() == scale_count(view.shape), ErrorCode::internal,
            "[view] samples of {}x{}x{} need {} scales, got {}", view.shape.channels, view.shape.height,
            view.shape.width, scale_count(view.shape), view.scales.size());
  }

  [[nodiscard]] Source<Stored> source(std::uint32_t position) const {
    require(position < view_.size(), ErrorCode::internal, "[view] position must be below {}, got {}", view_.size(),
            position);
    const ViewItem item = view_.items[position];
    const auto label = static_cast<std::size_t>(view_.samples->labels[item.source]);
    const Transform transform = view_.recipes[item.recipe].transform_of_class[label];
    require(transform.tint >= -1 && transform.tint < view_.shape.channels, ErrorCode::internal,
            "[view] tint must be a channel below {} or -1, got {}", view_.shape.channels, transform.tint);
    const auto stored = static_cast<std::size_t>(view_.samples->shape.size());
    return {inputs_of<Stored>(*view_.samples) + item.source * stored, make_walk(transform.quarter_turns, view_.shape),
            transform.tint};
  }
  [[nodiscard]] std::size_t plane() const { return plane_; }
  /// Where an output channel starts in the stored sample.
  [[nodiscard]] std::size_t channel_offset(int channel) const {
    return gray_source_ ? 0 : static_cast<std::size_t>(channel) * plane_;
  }
  [[nodiscard]] bool gray_source() const { return gray_source_; }
  /// Whether every column has a scale of its own, not every channel.
  [[nodiscard]] bool scales_columns() const { return !view_.scales.empty() && is_table(view_.shape); }
  /// What a channel of the sample becomes; a tinted one is 1 everywhere before it is scaled.
  [[nodiscard]] InputScale scale(const Source<Stored>& source, int channel) const {
    const InputScale scale =
        view_.scales.empty() || scales_columns() ? InputScale{} : view_.scales[static_cast<std::size_t>(channel)];
    return channel == source.tint ? InputScale{0.0F, scale.factor + scale.offset} : scale;
  }
  /// What a value becomes in a column of a channel that as a whole becomes `all`.
  [[nodiscard]] float scaled(float value, const InputScale& all, std::size_t column) const {
    const InputScale& scale = scales_columns() ? view_.scales[column] : all;
    return value * scale.factor + scale.offset;
  }

 private:
  const View& view_;
  std::size_t plane_;
  bool gray_source_ = true;
};

template <class Stored>
void write_sample(const Assembler<Stored>& assembler, const Source<Stored>& source, SampleShape shape,
                  std::span<float> out) {
  const auto width = static_cast<std::size_t>(shape.width);
  const auto height = static_cast<std::size_t>(shape.height);
  for (int channel = 0; channel < shape.channels; ++channel) {
    const std::span<float> target =
        out.subspan(static_cast<std::size_t>(channel) * assembler.plane(), assembler.plane());
    const InputScale scale = assembler.scale(source, channel);
    const Stored* const stored = source.stored + assembler.channel_offset(channel);
    for (std::size_t r = 0; r < height; ++r) {
      for (std::size_t c = 0; c < width; ++c) {
        const float value = number(stored[source.walk.at(r) + static_cast<std::ptrdiff_t>(c) * source.walk.column]);
        target[r * width + c] = assembler.scaled(value, scale, c);
      }
    }
  }
}

/// Asks for a group's stored values before they are needed: they lie anywhere in the dataset.
template <class Stored>
void prefetch(std::span<const Source<Stored>> lanes, std::size_t values) {
  constexpr std::size_t kCacheLine = 64 / sizeof(Stored);
  for (const Source<Stored>& lane : lanes) {
    for (std::size_t at = 0; at < values; at += kCacheLine) {
      __builtin_prefetch(lane.stored + at);
    }
  }
}

/// What each channel of a group becomes; lanes without a sample stay zero.
std::vector<LaneScale> scales_of(const Assembler<std::uint8_t>& assembler, std::span<const Source<std::uint8_t>> lanes,
                                 int channels) {
  std::vector<LaneScale> scales(static_cast<std::size_t>(channels));
  for (int channel = 0; channel < channels; ++channel) {
    LaneScale& scale = scales[static_cast<std::size_t>(channel)];
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      const InputScale one = assembler.scale(lanes[lane], channel);
      scale.factor[lane] = one.factor;
      scale.offset[lane] = one.offset;
    }
  }
  return scales;
}

std::vector<TurnedLanes> turns_of(std::span<const Source<std::uint8_t>> lanes) {
  std::vector<TurnedLanes> turns;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    auto turn =
        std::find_if(turns.begin(), turns.end(), [&](const TurnedLanes& t) { return t.walk == lanes[lane].walk; });
    if (turn == turns.end()) {
      turn = turns.insert(turn, {lanes[lane].walk, {}});
    }
    turn->lanes[lane] = 0xFF;
  }
  return turns;
}

/// One value after the other, each by the scale of its own column where there are such.
template <class Stored>
void write_values(const Assembler<Stored>& assembler, std::span<const Source<Stored>> lanes, SampleShape shape,
                  const PlaneTarget& out) {
  const auto width = static_cast<std::size_t>(shape.width);
  for (int channel = 0; channel < shape.channels; ++channel) {
    for (std::size_t r = 0; r < static_cast<std::size_t>(shape.height); ++r) {
      float* const row = out.first + static_cast<std::size_t>(channel) * out.channel + r * out.row;
      std::fill_n(row, width * kLanes, 0.0F);
      for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        const Source<Stored>& source = lanes[lane];
        const InputScale scale = assembler.scale(source, channel);
        const Stored* const stored = source.stored + assembler.channel_offset(channel) + source.walk.at(r);
        for (std::size_t c = 0; c < width; ++c) {
          const float value = number(stored[static_cast<std::ptrdiff_t>(c) * source.walk.column]);
          row[c * kLanes + lane] = assembler.scaled(value, scale, c);
        }
      }
    }
  }
}

/// Writes the rows of one group, zero for lanes without a sample; border columns stay as they are (zero).
void write_group(const Assembler<std::uint8_t>& assembler, std::span<const Source<std::uint8_t>> lanes,
                 SampleShape shape, const PlaneTarget& out) {
  if (assembler.scales_columns()) {
    write_values(assembler, lanes, shape, out);
    return;
  }
  const auto height = static_cast<std::size_t>(shape.height);
  const auto width = static_cast<std::size_t>(shape.width);
  const auto channels = static_cast<std::size_t>(shape.channels);
  const std::vector<TurnedLanes> turns = turns_of(lanes);
  const std::vector<LaneScale> scales = scales_of(assembler, lanes, shape.channels);
  // All channels of a gray picture share its only one.
  const std::size_t sharing = assembler.gray_source() ? channels : 1;
  std::vector<std::uint8_t> bytes(assembler.plane() * kLanes);
  std::array<const std::uint8_t*, kLanes> pictures{};
  for (std::size_t channel = 0; channel < channels; channel += sharing) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      // Lanes without a sample read another's picture, and nothing of it is used.
      const Source<std::uint8_t>& source = lanes[lane < lanes.size() ? lane : 0];
      pictures[lane] = source.stored + assembler.channel_offset(static_cast<int>(channel));
    }
    detail::interleave_bytes(pictures, assembler.plane(), bytes.data());
    detail::write_plane({bytes.data(), turns, height, width}, std::span(scales).subspan(channel, sharing),
                        {out.first + channel * out.channel, out.row, out.channel});
  }
}

void write_group(const Assembler<float>& assembler, std::span<const Source<float>> lanes, SampleShape shape,
                 const PlaneTarget& out) {
  write_values(assembler, lanes, shape, out);
}

template <class Stored>
void write_inputs(const View& view, std::span<const std::uint32_t> order, BatchLayout layout, std::span<float> inputs) {
  const Assembler<Stored> assembler(view);
  std::vector<Source<Stored>> sources;
  sources.reserve(order.size());
  for (const std::uint32_t position : order) {
    sources.push_back(assembler.source(position));
  }
  switch (layout.kind) {
    case BatchLayout::sample_major: {
      const auto sample_size = static_cast<std::size_t>(view.shape.size());
      for (std::size_t i = 0; i < sources.size(); ++i) {
        write_sample(assembler, sources[i], view.shape, inputs.subspan(i * sample_size, sample_size));
      }
      break;
    }
    case BatchLayout::sample_innermost: {
      const std::size_t group_size = layout.size(view.shape, 1);
      const std::size_t row = static_cast<std::size_t>(view.shape.width + 2 * layout.border) * kLanes;
      const std::size_t border = static_cast<std::size_t>(layout.border) * kLanes;
      const auto group = [&](std::size_t first) {
        const std::size_t begin = std::min(first, sources.size());
        return std::span<const Source<Stored>>(sources).subspan(begin, std::min(kLanes, sources.size() - begin));
      };
      const auto stored = static_cast<std::size_t>(view.samples->shape.size());
      prefetch(group(0), stored);
      for (std::size_t first = 0; first < sources.size(); first += kLanes) {
        prefetch(group(first + kLanes), stored);
        write_group(assembler, group(first), view.shape,
                    {inputs.subspan(first / kLanes * group_size, group_size).data() + border, row,
                     row * static_cast<std::size_t>(view.shape.height)});
      }
      break;
    }
  }
}

void append_targets(std::vector<float>& out, const View& view, std::size_t position) {
  const std::span<const std::uint8_t> row = view.targets(position);
  out.insert(out.end(), row.begin(), row.end());
}

}  // namespace

std::int32_t View::label(std::size_t i) const {
  const ViewItem item = items[i];
  return recipes[item.recipe].label_of_class[static_cast<std::size_t>(samples->labels[item.source])];
}

std::span<const std::uint8_t> View::targets(std::size_t i) const {
  const std::size_t classes = samples->targets.size() / std::max<std::size_t>(samples->count(), 1);
  return std::span(samples->targets).subspan(items[i].source * classes, classes);
}

View with_scales(View view, std::span<const InputScale> scales) {
  view.scales = scales;
  return view;
}

std::vector<float> targets_of(const View& view) {
  std::vector<float> all;
  for (std::size_t i = 0; i < view.size(); ++i) {
    append_targets(all, view, i);
  }
  return all;
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
  if (view.samples->values.empty()) {
    write_inputs<std::uint8_t>(view, order, layout, batch.inputs);
  } else {
    write_inputs<float>(view, order, layout, batch.inputs);
  }
  for (std::size_t i = 0; labelled && i < order.size(); ++i) {
    if (view.samples->multi_label()) {
      append_targets(batch.targets, view, order[i]);
    } else {
      batch.labels.push_back(view.label(order[i]));
    }
  }
}

}  // namespace feroma
