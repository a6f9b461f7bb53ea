#include "feroma/algorithms/extractor.h"

#include <cmath>
#include <numeric>

#include "feroma/core/error.h"

namespace feroma {
namespace {

constexpr std::size_t kEncodeBatch = 64;
constexpr double kLeastLength = 1e-6;

void append_labels(EncodedSamples& samples, const Batch& batch) {
  samples.labels.insert(samples.labels.end(), batch.labels.begin(), batch.labels.end());
  samples.targets.insert(samples.targets.end(), batch.targets.begin(), batch.targets.end());
}

EncodedSamples raw_samples(const View& view, bool labelled) {
  EncodedSamples samples{{view.shape.size(), {}}, {}};
  std::vector<std::uint32_t> order(view.size());
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t begin = 0; begin < order.size(); begin += kEncodeBatch) {
    const auto part = std::span(order).subspan(begin, std::min(kEncodeBatch, order.size() - begin));
    const Batch batch = assemble(view, part, BatchLayout::sample_major, labelled);
    samples.rows.values.insert(samples.rows.values.end(), batch.inputs.begin(), batch.inputs.end());
    append_labels(samples, batch);
  }
  return samples;
}

EncodedSamples latent_samples(const FeromaOptions& options, const Parameters& encoder, Trainer& trainer,
                              const View& view, bool labelled) {
  EncodedSamples samples;
  trainer.latents(encoder, view, options.latent, [&](std::span<const float> rows, int width, const Batch& batch) {
    samples.rows.width = width;
    samples.rows.values.insert(samples.rows.values.end(), rows.begin(), rows.end());
    if (labelled) {
      append_labels(samples, batch);
    }
  });
  return samples;
}

}  // namespace

Message to_message(const Extractor& extractor, const std::string& prefix) {
  Message message;
  if (extractor.encoder) {
    message.values[prefix + "encoder"] = extractor.encoder;
  }
  message.values[prefix + "projector.components"] = extractor.projector.components;
  message.values[prefix + "projector.centre"] = extractor.projector.centre;
  return message;
}

Extractor extractor_from(const Message& message, int width, const std::string& prefix) {
  Extractor extractor;
  if (message.has(prefix + "encoder")) {
    extractor.encoder = message.model(prefix + "encoder");
  }
  extractor.projector.components = message.floats(prefix + "projector.components");
  extractor.projector.centre = message.floats(prefix + "projector.centre");
  const auto columns = static_cast<std::size_t>(width);
  require(!extractor.projector.components.empty() && extractor.projector.components.size() % columns == 0 &&
              extractor.projector.centre.size() == columns,
          ErrorCode::invalid_data, "[profile] a projector of {} + {} values does not fit {} coordinates",
          extractor.projector.components.size(), extractor.projector.centre.size(), width);
  extractor.projector.input = width;
  extractor.projector.output = static_cast<int>(extractor.projector.components.size() / columns);
  return extractor;
}

int encoder_width(const FeromaOptions& options, const ModelSpec& model) {
  return options.encoder == "input_moments" ? model.input.size() : latent_size(model, options.latent);
}

int widest_profile(const FeromaOptions& options, const ModelSpec& model) {
  const int width = encoder_width(options, model);
  return options.projection == Projection::orthonormal ? width : std::min(width, kPcaPoints);
}

ProfileShape profile_shape(const FeromaOptions& options, const ModelSpec& model) {
  const int projected = options.dimensions == 0 ? model.classes : options.dimensions;
  return {options.full_marginal ? encoder_width(options, model) : projected,
          projected,
          model.classes,
          options.uses_priors(),
          options.full_marginal && options.encoder != "input_moments",
          options.spread == SpreadKind::variance};
}

void scale_to_unit_length(Rows& rows) {
  const auto width = static_cast<std::size_t>(rows.width);
  for (std::size_t begin = 0; begin < rows.values.size(); begin += width) {
    double squared = 0;
    for (std::size_t c = begin; c < begin + width; ++c) {
      squared += static_cast<double>(rows.values[c]) * static_cast<double>(rows.values[c]);
    }
    const double length = std::max(std::sqrt(squared), kLeastLength);
    for (std::size_t c = begin; c < begin + width; ++c) {
      rows.values[c] = static_cast<float>(static_cast<double>(rows.values[c]) / length);
    }
  }
}

EncodedSamples encode_samples(const FeromaOptions& options, const ParametersPtr& encoder, Trainer& trainer,
                              const View& view, bool labelled) {
  EncodedSamples samples =
      encoder ? latent_samples(options, *encoder, trainer, view, labelled) : raw_samples(view, labelled);
  if (options.unit_norm) {
    scale_to_unit_length(samples.rows);
  }
  return samples;
}

View profile_view(const FeromaOptions& options, const View& train, const View& held_out, Rng rng) {
  View view = options.data == ProfileData::held_out ? held_out : train;
  if (options.data == ProfileData::all) {
    view.items.insert(view.items.end(), held_out.items.begin(), held_out.items.end());
  }
  const auto limit = static_cast<std::size_t>(options.max_samples);
  if (limit > 0 && view.items.size() > limit) {
    std::vector<ViewItem> drawn;
    for (const std::uint32_t i : rng.sample(view.items.size(), limit)) {
      drawn.push_back(view.items[i]);
    }
    view.items = std::move(drawn);
  }
  return view;
}

Profile extract_profile(const FeromaOptions& options, const Extractor& extractor, const EncodedSamples& samples,
                        int classes, Subsampling subsampling, Rng rng) {
  const Rows projected = project(extractor.projector, samples.rows);
  const ProfileRule rule{subsampling, options.replicates, options.missing_class, options.least_samples, options.spread};
  return make_profile(options.full_marginal ? samples.rows : projected, projected, {samples.labels, samples.targets},
                      classes, rule, std::move(rng));
}

}  // namespace feroma
