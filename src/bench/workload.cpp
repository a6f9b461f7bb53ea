#include "bench/workload.h"

#include <fmt/core.h>

#include <ctime>
#include <numeric>

#include "feroma/core/rng.h"
#include "feroma/core/settings.h"
#include "feroma/data/catalog.h"

namespace feroma::detail {

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Batch noise_batch(const ModelSpec& spec, int size, BatchLayout layout) {
  Rng rng(1);
  Batch batch;
  batch.size = size;
  batch.shape = spec.input;
  batch.layout = layout;
  const auto columns = static_cast<std::size_t>(spec.input.width + 2 * layout.border);
  const auto border = static_cast<std::size_t>(layout.border);
  for (std::size_t i = 0; i < layout.size(spec.input, size); ++i) {
    const std::size_t column = i / kBatchLanes % columns;
    const bool beside = border > 0 && (column < border || column >= columns - border);
    batch.inputs.push_back(beside ? 0.0F : static_cast<float>(rng.uniform()));
  }
  for (int i = 0; i < size; ++i) {
    batch.labels.push_back(i % spec.classes);
  }
  return batch;
}

NoiseClient::NoiseClient(std::size_t samples)
    : samples_(std::make_unique<Samples>()), recipe_(std::make_unique<Recipe>()) {
  constexpr int kClasses = 10;
  Rng rng(2);
  samples_->shape = {1, 28, 28};
  for (std::size_t i = 0; i < samples; ++i) {
    samples_->labels.push_back(static_cast<std::int32_t>(i % kClasses));
    for (int p = 0; p < samples_->shape.size(); ++p) {
      samples_->pixels.push_back(static_cast<std::uint8_t>(rng.below(256)));
    }
  }
  recipe_->transform_of_class.assign(kClasses, Transform{1, 0});
  recipe_->label_of_class.resize(kClasses);
  std::iota(recipe_->label_of_class.begin(), recipe_->label_of_class.end(), 0);
  view_ = {samples_.get(), std::span(recipe_.get(), 1), {3, 28, 28}, {}};
  for (std::uint32_t i = 0; i < samples; ++i) {
    view_.items.push_back({i, 0});
  }
}

void say(const BenchOptions& options, std::string_view text) {
  if (options.say) {
    options.say(text);
  }
}

std::string available_dataset() {
  for (const char* name : {"mnist", "fmnist"}) {
    if (!locate_dataset(find_dataset(name), {}).empty()) {
      return name;
    }
  }
  return {};
}

void note_dataset(Readings& readings, std::string_view dataset, const std::vector<std::string>& figures) {
  for (const std::string& figure : figures) {
    if (dataset.empty()) {
      readings.notes[figure] = "needs mnist or fmnist (feroma data get mnist)";
    } else if (dataset != "mnist") {
      readings.notes[figure] = fmt::format("on {}: mnist is not on this machine", dataset);
    }
  }
}

Experiment experiment_of(std::string_view config, const std::vector<std::string>& overrides) {
  Settings settings = parse_settings(config, "built-in config");
  for (const std::string& assignment : overrides) {
    apply_override(settings, assignment);
  }
  return read_experiment(settings);
}

}  // namespace feroma::detail
