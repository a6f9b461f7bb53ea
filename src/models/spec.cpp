#include "feroma/models/spec.h"

#include <algorithm>
#include <cmath>

#include "feroma/core/error.h"

namespace feroma {
namespace {

SampleShape shape_after(const Conv2d& layer, SampleShape in) {
  require(layer.out_channels >= 1 && layer.kernel >= 1 && layer.padding >= 0, ErrorCode::invalid_config,
          "[model] {} needs channels >= 1, kernel >= 1 and padding >= 0, got {}, {} and {}", layer.name,
          layer.out_channels, layer.kernel, layer.padding);
  const int shrink = layer.kernel - 1 - 2 * layer.padding;
  require(in.height > shrink && in.width > shrink, ErrorCode::invalid_config,
          "[model] {} with kernel {} and padding {} does not fit into {} x {}", layer.name, layer.kernel, layer.padding,
          in.height, in.width);
  return {layer.out_channels, in.height - shrink, in.width - shrink};
}

SampleShape shape_after(const Conv1d& layer, SampleShape in) {
  require(layer.out_channels >= 1 && layer.kernel >= 1 && layer.padding >= 0, ErrorCode::invalid_config,
          "[model] {} needs channels >= 1, kernel >= 1 and padding >= 0, got {}, {} and {}", layer.name,
          layer.out_channels, layer.kernel, layer.padding);
  const int shrink = layer.kernel - 1 - 2 * layer.padding;
  require(in.width > shrink, ErrorCode::invalid_config, "[model] {} with kernel {} and padding {} does not fit into {}",
          layer.name, layer.kernel, layer.padding, in.width);
  return {layer.out_channels, in.height, in.width - shrink};
}

SampleShape pooled(int size, SampleShape in) {
  require(size >= 1 && in.height >= window_rows(size, in.height) && in.width >= size, ErrorCode::invalid_config,
          "[model] a pooling window must be >= 1 and fit into {} x {}, got {}", in.height, in.width, size);
  return {in.channels, in.height / window_rows(size, in.height), in.width / size};
}

SampleShape shape_after(const AvgPool& layer, SampleShape in) { return pooled(layer.size, in); }
SampleShape shape_after(const MaxPool& layer, SampleShape in) { return pooled(layer.size, in); }

/// Layers that work on each value keep the shape.
SampleShape shape_after(const OneOf<Relu, Elu, BatchNorm, LayerNorm, ChannelScale, SkipBegin, SkipEnd> auto&,
                        SampleShape in) {
  return in;
}

SampleShape shape_after(const Flatten&, SampleShape in) { return {in.size(), 1, 1}; }

SampleShape shape_after(const Linear& layer, SampleShape in) {
  require(layer.out_features >= 1, ErrorCode::invalid_config, "[model] {} needs features >= 1, got {}", layer.name,
          layer.out_features);
  require(in.height == 1 && in.width == 1, ErrorCode::invalid_config,
          "[model] {} needs a flattened input, got {} x {} x {}", layer.name, in.channels, in.height, in.width);
  return {layer.out_features, 1, 1};
}

void add_tensors(ParamLayout& layout, const Conv2d& layer, SampleShape in) {
  layout.add(layer.name + ".weight", SegmentKind::weight,
             {layer.out_channels, in.channels, layer.kernel, layer.kernel});
  layout.add(layer.name + ".bias", SegmentKind::bias, {layer.out_channels});
}

void add_tensors(ParamLayout& layout, const Linear& layer, SampleShape in) {
  layout.add(layer.name + ".weight", SegmentKind::weight, {layer.out_features, in.size()});
  layout.add(layer.name + ".bias", SegmentKind::bias, {layer.out_features});
}

void add_tensors(ParamLayout& layout, const Conv1d& layer, SampleShape in) {
  layout.add(layer.name + ".weight", SegmentKind::weight, {layer.out_channels, in.channels, layer.kernel});
  layout.add(layer.name + ".bias", SegmentKind::bias, {layer.out_channels});
}

void add_affine(ParamLayout& layout, const std::string& name, int size) {
  layout.add(name + ".weight", SegmentKind::affine, {size});
  layout.add(name + ".bias", SegmentKind::affine, {size});
}

void add_tensors(ParamLayout& layout, const BatchNorm& layer, SampleShape in) {
  add_affine(layout, layer.name, in.channels);
  layout.add(layer.name + ".running_mean", SegmentKind::buffer, {in.channels});
  layout.add(layer.name + ".running_var", SegmentKind::buffer, {in.channels});
  layout.add(layer.name + ".num_batches_tracked", SegmentKind::buffer, {1});
}

void add_tensors(ParamLayout& layout, const LayerNorm& layer, SampleShape in) {
  add_affine(layout, layer.name, in.size());
}

void add_tensors(ParamLayout& layout, const ChannelScale& layer, SampleShape in) {
  add_affine(layout, layer.name, in.channels);
}

/// Layers that have nothing to learn.
void add_tensors(ParamLayout&, const OneOf<Relu, Elu, AvgPool, MaxPool, SkipBegin, SkipEnd, Flatten> auto&,
                 SampleShape) {}

LayerRole role(const OneOf<Conv2d, Conv1d> auto&) { return LayerRole::convolution; }
LayerRole role(const Linear&) { return LayerRole::linear; }
LayerRole role(const OneOf<BatchNorm, LayerNorm, ChannelScale> auto&) { return LayerRole::factors; }
LayerRole role(const Flatten&) { return LayerRole::flatten; }
LayerRole role(const OneOf<Relu, Elu, AvgPool, MaxPool, SkipBegin, SkipEnd> auto&) { return LayerRole::plain; }

/// Every SkipEnd adds pictures of one shape; every SkipBegin has its end.
void check_skips(const ModelSpec& spec) {
  std::vector<SampleShape> open;
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    if (std::holds_alternative<SkipBegin>(spec.layers[i])) {
      open.push_back(output_shape(spec, i));
    } else if (std::holds_alternative<SkipEnd>(spec.layers[i])) {
      require(!open.empty() && open.back() == output_shape(spec, i), ErrorCode::invalid_config,
              "[model] layer {} of {} adds what no SkipBegin kept, or another shape", i, spec.name);
      open.pop_back();
    }
  }
  require(open.empty(), ErrorCode::invalid_config, "[model] {} has a SkipBegin without its SkipEnd", spec.name);
}

/// Where gains, offsets and running statistics start.
float start_of(const Segment& segment) {
  return segment.name.ends_with(".weight") || segment.name.ends_with(".running_var") ? 1.0F : 0.0F;
}

}  // namespace

SampleShape output_shape(const ModelSpec& spec, std::size_t count) {
  require(count <= spec.layers.size(), ErrorCode::internal, "[model] {} has {} layers, got {}", spec.name,
          spec.layers.size(), count);
  SampleShape shape = spec.input;
  require(shape.channels >= 1 && shape.height >= 1 && shape.width >= 1, ErrorCode::invalid_config,
          "[model] every extent of {}'s input must be >= 1, got {} x {} x {}", spec.name, shape.channels, shape.height,
          shape.width);
  for (std::size_t i = 0; i < count; ++i) {
    shape = std::visit([&shape](const auto& layer) { return shape_after(layer, shape); }, spec.layers[i]);
  }
  return shape;
}

LayerRole role_of(const Layer& layer) {
  return std::visit([](const auto& one) { return role(one); }, layer);
}

std::optional<std::size_t> find_latent_layer(const ModelSpec& spec, Latent latent) {
  for (std::size_t i = spec.layers.size(); i-- > 0;) {
    const LayerRole found = role_of(spec.layers[i]);
    if (latent == Latent::flatten && found == LayerRole::flatten) {
      return i;
    }
    if (latent == Latent::penultimate && found == LayerRole::linear && i > 0) {
      return i - 1;
    }
  }
  return std::nullopt;
}

std::size_t latent_layer(const ModelSpec& spec, Latent latent) {
  const std::optional<std::size_t> found = find_latent_layer(spec, latent);
  require(found.has_value(), ErrorCode::invalid_config, "[model] {} has no {} latent", spec.name,
          latent == Latent::flatten ? "flatten" : "penultimate");
  return *found;
}

int latent_size(const ModelSpec& spec, Latent latent) {
  if (spec.script) {
    return spec.script->latent_size;
  }
  return output_shape(spec, latent_layer(spec, latent) + 1).size();
}

std::shared_ptr<const ParamLayout> make_layout(const ModelSpec& spec) {
  if (spec.script) {
    return spec.script->initial->shared_layout();
  }
  const SampleShape out = output_shape(spec, spec.layers.size());
  require(out == SampleShape{spec.classes, 1, 1}, ErrorCode::invalid_config,
          "[model] {} must end in {} logits, got {} x {} x {}", spec.name, spec.classes, out.channels, out.height,
          out.width);
  check_skips(spec);
  auto layout = std::make_shared<ParamLayout>();
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const SampleShape in = output_shape(spec, i);
    std::visit([&](const auto& layer) { add_tensors(*layout, layer, in); }, spec.layers[i]);
  }
  return layout;
}

Parameters initialise(const ModelSpec& spec, const Rng& rng) {
  if (spec.script) {
    return spec.script->initial->clone();
  }
  Parameters params(make_layout(spec));
  double bound = 0;
  for (std::size_t i = 0; i < params.layout().segments.size(); ++i) {
    const Segment& segment = params.layout().segments[i];
    if (segment.kind == SegmentKind::affine || segment.kind == SegmentKind::buffer) {
      std::fill(params.segment(i).begin(), params.segment(i).end(), start_of(segment));
      continue;
    }
    if (segment.kind == SegmentKind::weight) {
      const auto fan_in = segment.size / static_cast<std::size_t>(segment.shape.front());
      bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
    }
    // A bias follows its weight and shares the weight's bound.
    Rng stream = rng.derive(segment.name);
    for (float& value : params.segment(i)) {
      value = static_cast<float>(stream.uniform(-bound, bound));
    }
  }
  return params;
}

}  // namespace feroma
