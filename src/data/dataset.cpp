#include "feroma/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "feroma/core/error.h"

namespace feroma {
namespace {

void check_inputs(const Samples& samples, std::string_view split) {
  const SampleShape shape = samples.shape;
  require(shape.channels >= 1 && shape.height >= 1 && shape.width >= 1, ErrorCode::invalid_data,
          "[dataset] a sample must have at least one value, got {}x{}x{} in the {} split", shape.channels, shape.height,
          shape.width, split);
  require(samples.count() > 0, ErrorCode::invalid_data, "[dataset] the {} split must have samples, got none", split);
  require(samples.pixels.empty() != samples.values.empty(), ErrorCode::invalid_data,
          "[dataset] the {} split must hold either bytes or numbers, got {} and {}", split, samples.pixels.size(),
          samples.values.size());
  const std::size_t inputs = samples.pixels.size() + samples.values.size();
  require(inputs == samples.count() * static_cast<std::size_t>(shape.size()), ErrorCode::invalid_data,
          "[dataset] the {} split must have {} values per sample, got {} for {} samples", split, shape.size(), inputs,
          samples.count());
  const auto bad =
      std::find_if_not(samples.values.begin(), samples.values.end(), [](float v) { return std::isfinite(v); });
  require(bad == samples.values.end(), ErrorCode::invalid_data,
          "[dataset] values of the {} split must be finite, got {} in sample {}", split,
          bad == samples.values.end() ? 0.0F : *bad, (bad - samples.values.begin()) / shape.size());
}

/// Entries of `list` must be in 0..below - 1, one per sample.
void check_list(const std::vector<std::int32_t>& list, std::size_t count, std::size_t below, std::string_view what,
                std::string_view split) {
  require(list.size() == count, ErrorCode::invalid_data, "[dataset] the {} split must have {} {}, got {}", split, count,
          what, list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    require(list[i] >= 0 && static_cast<std::size_t>(list[i]) < below, ErrorCode::invalid_data,
            "[dataset] {} of the {} split must be in 0..{}, got {} in sample {}", what, split, below - 1, list[i], i);
  }
}

void check_samples(const Dataset& dataset, const Samples& samples, std::string_view split) {
  check_inputs(samples, split);
  const auto classes = static_cast<std::size_t>(dataset.classes);
  check_list(samples.labels, samples.count(), classes, "labels", split);
  if (!dataset.domain_names.empty()) {
    check_list(samples.domains, samples.count(), dataset.domain_names.size(), "domains", split);
  }
  require(samples.owners.empty() || samples.owners.size() == samples.count(), ErrorCode::invalid_data,
          "[dataset] the {} split must have {} owners or none, got {}", split, samples.count(), samples.owners.size());
  if (samples.multi_label()) {
    require(samples.targets.size() == samples.count() * classes, ErrorCode::invalid_data,
            "[dataset] the {} split must have {} targets per sample, got {} for {} samples", split, classes,
            samples.targets.size(), samples.count());
    const auto bad = std::find_if(samples.targets.begin(), samples.targets.end(), [](std::uint8_t t) { return t > 1; });
    require(bad == samples.targets.end(), ErrorCode::invalid_data,
            "[dataset] targets of the {} split must be 0 or 1, got {}", split,
            bad == samples.targets.end() ? 0 : static_cast<int>(*bad));
  }
}

}  // namespace

DataNames names_in(const Dataset& dataset) { return {dataset.train.columns, dataset.class_names}; }

void check_dataset(const Dataset& dataset) {
  require(dataset.classes >= 1, ErrorCode::invalid_data, "[dataset] {} must have at least one class, got {}",
          dataset.name, dataset.classes);
  require(dataset.class_names.empty() || dataset.class_names.size() == static_cast<std::size_t>(dataset.classes),
          ErrorCode::invalid_data, "[dataset] {} must name all of its {} classes or none, got {}", dataset.name,
          dataset.classes, dataset.class_names.size());
  check_samples(dataset, dataset.train, "train");
  check_samples(dataset, dataset.test, "test");
  require(dataset.train.shape == dataset.test.shape, ErrorCode::invalid_data,
          "[dataset] both splits must have the same shape, got {} and {} values", dataset.train.shape.size(),
          dataset.test.shape.size());
  require(dataset.train.values.empty() == dataset.test.values.empty() &&
              dataset.train.multi_label() == dataset.test.multi_label(),
          ErrorCode::invalid_data, "[dataset] both splits of {} must be of one kind", dataset.name);
}

}  // namespace feroma
