#include "algorithms/domain.h"

#include <algorithm>
#include <numeric>

#include "feroma/core/error.h"

namespace feroma {
namespace {

/// A channel that never varies says as little about a domain as one that hardly does.
constexpr double kSmallestVariance = 1e-6;

/// The model up to its first convolution or linear layer. Behind a convolution one linear unit makes it a complete
/// model, whose flattened latent is what the convolution puts out; a linear layer's outputs are logits already.
ModelSpec stem_of(const ModelSpec& model) {
  require(!model.script, ErrorCode::unsupported, "[domain] the first layer of a TorchScript model cannot be seen");
  ModelSpec stem{model.name + " stem", model.input, 1, {}};
  for (const Layer& layer : model.layers) {
    stem.layers.push_back(layer);
    switch (role_of(layer)) {
      case LayerRole::linear: stem.classes = output_shape(stem, stem.layers.size()).channels; return stem;
      case LayerRole::convolution:
        stem.layers.insert(stem.layers.end(), {Flatten{}, Linear{"stem_end", 1}});
        return stem;
      case LayerRole::factors:
      case LayerRole::flatten:
      case LayerRole::plain: break;
    }
  }
  fail(ErrorCode::unsupported, "[domain] a model needs a layer with weights, got {} without one", model.name);
}

bool has_convolution(const ModelSpec& stem) {
  return std::any_of(stem.layers.begin(), stem.layers.end(),
                     [](const Layer& layer) { return role_of(layer) == LayerRole::convolution; });
}

/// The model's own values for the layers that the stem has of it.
Parameters stem_parameters(const ModelSpec& stem, const Parameters& model) {
  Parameters params(make_layout(stem));
  const std::vector<Segment>& segments = model.layout().segments;
  for (std::size_t i = 0; i < params.layout().segments.size(); ++i) {
    const std::string& name = params.layout().segments[i].name;
    const auto found =
        std::find_if(segments.begin(), segments.end(), [&](const Segment& segment) { return segment.name == name; });
    if (found != segments.end()) {
      const auto source = model.segment(static_cast<std::size_t>(found - segments.begin()));
      std::copy(source.begin(), source.end(), params.segment(i).begin());
    }
  }
  return params;
}

/// Mean and variance per channel of rows of channels x positions.
DomainStatistics statistics_of(std::span<const float> features, std::size_t channels, std::size_t positions) {
  DomainStatistics result{std::vector<double>(channels), std::vector<double>(channels)};
  const double count = static_cast<double>(features.size()) / static_cast<double>(channels);
  const auto add_up = [&](std::vector<double>& sums, const auto& term) {
    for (std::size_t i = 0; i < features.size(); ++i) {
      const std::size_t channel = i / positions % channels;
      sums[channel] += term(static_cast<double>(features[i]), channel) / count;
    }
  };
  add_up(result.mean, [](double value, std::size_t) { return value; });
  add_up(result.variance, [&](double value, std::size_t channel) {
    return (value - result.mean[channel]) * (value - result.mean[channel]);
  });
  return result;
}

}  // namespace

double domain_distance(const DomainStatistics& a, const DomainStatistics& b) {
  require(a.mean.size() == b.mean.size() && !a.empty(), ErrorCode::internal,
          "[domain] statistics of {} channels cannot be compared with {}", a.mean.size(), b.mean.size());
  double sum = 0;
  for (std::size_t c = 0; c < a.mean.size(); ++c) {
    const double apart = (a.mean[c] - b.mean[c]) * (a.mean[c] - b.mean[c]);
    const double first = std::max(a.variance[c], kSmallestVariance);
    const double second = std::max(b.variance[c], kSmallestVariance);
    sum += (first + apart) / (2 * second) + (second + apart) / (2 * first) - 1;
  }
  return sum / static_cast<double>(a.mean.size());
}

DomainStatistics moving_average(const DomainStatistics& old, DomainStatistics next, double decay) {
  if (old.empty()) {
    return next;
  }
  for (std::size_t c = 0; c < next.mean.size(); ++c) {
    next.mean[c] = decay * old.mean[c] + (1 - decay) * next.mean[c];
    next.variance[c] = decay * old.variance[c] + (1 - decay) * next.variance[c];
  }
  return next;
}

DomainStatistics pooled(std::span<const DomainStatistics> domains) {
  DomainStatistics all;
  for (const DomainStatistics& domain : domains) {
    all.mean.resize(domain.mean.size());
    all.variance.resize(domain.mean.size());
    for (std::size_t c = 0; c < domain.mean.size(); ++c) {
      all.mean[c] += domain.mean[c] / static_cast<double>(domains.size());
    }
  }
  for (const DomainStatistics& domain : domains) {
    for (std::size_t c = 0; c < domain.mean.size(); ++c) {
      const double apart = domain.mean[c] - all.mean[c];
      all.variance[c] += (domain.variance[c] + apart * apart) / static_cast<double>(domains.size());
    }
  }
  return all;
}

Stem::Stem(const ModelSpec& model)
    : spec_(stem_of(model)), convolution_(has_convolution(spec_)), engine_(make_engine(EngineKind::native, spec_)) {}

std::size_t Stem::channels() const {
  return static_cast<std::size_t>(convolution_ ? output_shape(spec_, spec_.layers.size() - 2).channels : spec_.classes);
}

DomainStatistics Stem::statistics(const Parameters& model, const View& view) {
  std::vector<std::uint32_t> order(view.size());
  std::iota(order.begin(), order.end(), 0U);
  const Batch batch = assemble(view, order, engine_->layout(), /*labelled=*/false);
  const Activations out = engine_->forward(stem_parameters(spec_, model), batch, Latent::flatten);
  if (!convolution_) {
    return statistics_of(out.logits, static_cast<std::size_t>(out.classes), 1);
  }
  const SampleShape shape = output_shape(spec_, spec_.layers.size() - 2);
  return statistics_of(out.latents, static_cast<std::size_t>(shape.channels),
                       static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width));
}

}  // namespace feroma
