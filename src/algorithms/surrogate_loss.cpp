#include "algorithms/surrogate_loss.h"

#include "algorithms/contrast.h"

namespace feroma {

WideLoss wide_loss(const FedGpsOptions& options, int classes, std::span<const float> own,
                   std::span<const float> made_up, const MixedLatents& mixed) {
  const auto count = static_cast<std::size_t>(classes);
  const std::size_t half = count * mixed.width();
  std::vector<float> weights(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(half));
  std::vector<float> biases(own.begin() + static_cast<std::ptrdiff_t>(half),
                            own.begin() + static_cast<std::ptrdiff_t>(half + count));
  weights.insert(weights.end(), made_up.begin(), made_up.begin() + static_cast<std::ptrdiff_t>(half));
  biases.insert(biases.end(), made_up.begin() + static_cast<std::ptrdiff_t>(half), made_up.end());
  std::vector<std::int32_t> labels(mixed.labels.begin(), mixed.labels.end());
  std::vector<double> scales(labels.size(), 1 / static_cast<double>(mixed.real));
  for (std::size_t i = mixed.real; i < labels.size(); ++i) {
    labels[i] += classes;
    scales[i] = options.surrogate_weight / static_cast<double>(labels.size() - mixed.real);
  }
  return wide_cross_entropy({weights, biases}, mixed.latents, labels, scales);
}

double add_alignment_(const FedGpsOptions& options, int classes, const MixedLatents& mixed, const Prototypes& targets,
                      std::span<float> slope) {
  const std::size_t width = mixed.width();
  const std::size_t made_up = mixed.labels.size() - mixed.real;
  double value = 0;
  const auto add = [&](const RowLoss& loss, double weight, std::size_t from, std::size_t count) {
    value += weight * loss.value;
    for (std::size_t i = 0; i < count * width; ++i) {
      slope[from * width + i] += static_cast<float>(weight * static_cast<double>(loss.gradient[i]));
    }
  };
  if (options.contrast > 0) {
    std::vector<std::int32_t> labels(mixed.labels.begin(), mixed.labels.end());
    for (std::size_t i = mixed.real; i < labels.size() && !options.match_classes; ++i) {
      labels[i] += classes;
    }
    // Made-up latents are taken as they are here: only real ones move.
    add(supervised_contrast(mixed.latents, width, labels, options.temperature), options.contrast, 0, mixed.real);
  }
  if (options.surrogate_contrast > 0) {
    add(supervised_contrast(mixed.latents.subspan(mixed.real * width), width, mixed.labels.subspan(mixed.real),
                            options.temperature),
        options.surrogate_contrast, mixed.real, made_up);
  }
  const double scale = options.prototype_weight / static_cast<double>(width * made_up);
  for (std::size_t i = mixed.real; i < mixed.labels.size() && scale > 0; ++i) {
    if (!targets.knows(mixed.labels[i])) {
      continue;
    }
    const std::span<const float> target = targets.of(mixed.labels[i]);
    for (std::size_t j = 0; j < width; ++j) {
      const double away = static_cast<double>(mixed.latents[i * width + j]) - static_cast<double>(target[j]);
      value += scale * away * away;
      slope[i * width + j] += static_cast<float>(2 * scale * away);
    }
  }
  return value;
}

}  // namespace feroma
