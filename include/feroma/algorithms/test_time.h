#pragma once

#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "feroma/algorithms/predictor.h"
#include "feroma/core/batch.h"
#include "feroma/models/message.h"

namespace feroma {

/// Which adapted model predicts a batch: the one adapted on it alone, or the mean of all adapted so far.
enum class AdaptMode { batch, online };
constexpr auto enum_names(AdaptMode) {
  using enum AdaptMode;
  return std::array<std::pair<AdaptMode, std::string_view>, 2>{{{batch, "batch"}, {online, "online"}}};
}

/// One step down the entropy of a model's own predictions on unlabelled data, with a rate for each tensor (ATP).
struct EntropyAdaptation {
  Floats rates;  ///< one per segment of the layout; negative ones climb
  AdaptMode mode = AdaptMode::batch;
  int batch_size = 64;
};

/// Rates from elsewhere must be finite, one for each segment of the layout; anything else is an invalid_data error.
void check_rates(std::span<const float> rates, const ParamLayout& layout);

/// Where a step against the rates leads from `model`: the gradient of the mean prediction entropy in eval mode, and for
/// running statistics the way from the batch's own to them. Labels of the batch are not read.
[[nodiscard]] std::vector<float> entropy_direction(Trainer& trainer, const Parameters& model, const Batch& batch);
/// model - rate * direction, each segment with its own rate; running variances stay >= 0.
[[nodiscard]] Parameters moved_along(const Parameters& model, std::span<const float> direction,
                                     std::span<const float> rates);
/// Per segment <gradient, direction> / sqrt(size). With the gradient of a loss at moved_along(model, direction, rates)
/// this is how fast the loss falls as a rate grows, made comparable between tensors of different sizes.
[[nodiscard]] std::vector<double> rate_gains(const ParamLayout& layout, std::span<const float> gradient,
                                             std::span<const float> direction);
/// One step of the rates on a labelled batch: adapt `model` without labels, see how they judge the result.
/// Returns the loss of the adapted model.
double learn_rates_(Floats& rates, Trainer& trainer, const Parameters& model, const Batch& batch, double learning_rate);

/// Adapts to every batch of what it predicts, always from `start`, and forgets it afterwards.
[[nodiscard]] std::unique_ptr<Predictor> make_entropy_predictor(ParametersPtr start, EntropyAdaptation adaptation,
                                                                ModelShares sources = {});

/// Consecutive samples of a view, at most `size` in each piece; the stream of batches a test client sees.
[[nodiscard]] std::vector<View> stream_of(const View& view, int size);
/// The samples of a view without their labels, as the trainer's engine reads them.
[[nodiscard]] Batch unlabelled_batch(Trainer& trainer, const View& view);

}  // namespace feroma
