#include "feroma/algorithms/test_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "feroma/core/error.h"

namespace feroma {
namespace {

/// How the names of running variances end.
constexpr std::string_view kRunningVariance = ".running_var";

class EntropyPredictor final : public Predictor {
 public:
  EntropyPredictor(ParametersPtr start, EntropyAdaptation adaptation, ModelShares sources)
      : start_(std::move(start)), adaptation_(std::move(adaptation)), sources_(std::move(sources)) {}

  std::vector<float> predict(Trainer& trainer, const View& view) override {
    require(!view.samples->multi_label(), ErrorCode::unsupported,
            "[test time] adapting by entropy needs data with one label per sample, got multi-label data");
    std::vector<float> all;
    Parameters mean;
    double seen = 0;
    for (const View& piece : stream_of(view, adaptation_.batch_size)) {
      Parameters adapted = adapt(trainer, piece);
      if (adaptation_.mode == AdaptMode::online) {
        seen += 1;
        mean = mean.empty() ? std::move(adapted) : mean_of(std::move(mean), adapted, seen);
      }
      const Parameters& model = adaptation_.mode == AdaptMode::online ? mean : adapted;
      const std::vector<float> probabilities = trainer.probabilities(model, piece);
      all.insert(all.end(), probabilities.begin(), probabilities.end());
    }
    return all;
  }
  [[nodiscard]] const ModelShares& sources() const override { return sources_; }

 private:
  Parameters adapt(Trainer& trainer, const View& piece) const {
    const Batch batch = unlabelled_batch(trainer, piece);
    return moved_along(*start_, entropy_direction(trainer, *start_, batch), adaptation_.rates);
  }

  /// The mean of `count` models from that of the first count - 1.
  static Parameters mean_of(Parameters mean, const Parameters& next, double count) {
    const std::span<float> values = mean.values();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] += (next.values()[i] - values[i]) / static_cast<float>(count);
    }
    return mean;
  }

  ParametersPtr start_;
  EntropyAdaptation adaptation_;
  ModelShares sources_;
};

}  // namespace

void check_rates(std::span<const float> rates, const ParamLayout& layout) {
  require(rates.size() == layout.segments.size(), ErrorCode::invalid_data,
          "[test time] rates must be one for each of {} tensors, got {}", layout.segments.size(), rates.size());
  for (const float rate : rates) {
    require(std::isfinite(rate), ErrorCode::invalid_data, "[test time] a rate must be finite, got {}", rate);
  }
}

std::vector<View> stream_of(const View& view, int size) {
  require(size >= 1, ErrorCode::internal, "[test time] a batch needs at least one sample, got {}", size);
  std::vector<View> pieces;
  for (std::size_t start = 0; start < view.size(); start += static_cast<std::size_t>(size)) {
    const std::size_t end = std::min(view.size(), start + static_cast<std::size_t>(size));
    View piece = view;
    piece.items.assign(view.items.begin() + static_cast<std::ptrdiff_t>(start),
                       view.items.begin() + static_cast<std::ptrdiff_t>(end));
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

Batch unlabelled_batch(Trainer& trainer, const View& view) {
  std::vector<std::uint32_t> order(view.size());
  std::iota(order.begin(), order.end(), 0U);
  return assemble(view, order, trainer.engine().layout(), /*labelled=*/false);
}

std::vector<float> entropy_direction(Trainer& trainer, const Parameters& model, const Batch& batch) {
  Objective objective;
  objective.loss = Loss::entropy;
  objective.statistics = Statistics::running;
  std::vector<float> direction(model.size());
  Parameters scratch = model.clone();
  trainer.gradient(scratch, batch, objective, direction);
  const std::vector<Segment>& segments = model.layout().segments;
  const auto is_buffer = [](const Segment& segment) { return segment.kind == SegmentKind::buffer; };
  if (std::none_of(segments.begin(), segments.end(), is_buffer)) {
    return direction;
  }
  const Parameters measured = trainer.with_batch_statistics(model, batch);
  for (const Segment& segment : segments) {
    for (std::size_t i = segment.offset; is_buffer(segment) && i < segment.offset + segment.size; ++i) {
      direction[i] = model.values()[i] - measured.values()[i];
    }
  }
  return direction;
}

Parameters moved_along(const Parameters& model, std::span<const float> direction, std::span<const float> rates) {
  const std::vector<Segment>& segments = model.layout().segments;
  require(rates.size() == segments.size() && direction.size() == model.size(), ErrorCode::internal,
          "[test time] a model of {} tensors needs as many rates, got {}", segments.size(), rates.size());
  Parameters moved = model.clone();
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const bool is_variance = segments[s].kind == SegmentKind::buffer && segments[s].name.ends_with(kRunningVariance);
    const std::span<float> values = moved.segment(s);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] -= rates[s] * direction[segments[s].offset + i];
      values[i] = is_variance ? std::max(values[i], 0.0F) : values[i];
    }
  }
  return moved;
}

std::vector<double> rate_gains(const ParamLayout& layout, std::span<const float> gradient,
                               std::span<const float> direction) {
  std::vector<double> gains;
  for (const Segment& segment : layout.segments) {
    double sum = 0;
    for (std::size_t i = segment.offset; i < segment.offset + segment.size; ++i) {
      sum += static_cast<double>(gradient[i]) * static_cast<double>(direction[i]);
    }
    gains.push_back(sum / std::sqrt(static_cast<double>(segment.size)));
  }
  return gains;
}

double learn_rates_(Floats& rates, Trainer& trainer, const Parameters& model, const Batch& batch,
                    double learning_rate) {
  const std::vector<float> direction = entropy_direction(trainer, model, batch);
  Parameters adapted = moved_along(model, direction, rates);
  std::vector<float> gradient(model.size());
  Objective objective;
  objective.statistics = Statistics::running;
  const double loss = trainer.gradient(adapted, batch, objective, gradient);
  const std::vector<double> gains = rate_gains(model.layout(), gradient, direction);
  for (std::size_t s = 0; s < rates.size(); ++s) {
    rates[s] = static_cast<float>(static_cast<double>(rates[s]) + learning_rate * gains[s]);
  }
  return loss;
}

std::unique_ptr<Predictor> make_entropy_predictor(ParametersPtr start, EntropyAdaptation adaptation,
                                                  ModelShares sources) {
  return std::make_unique<EntropyPredictor>(std::move(start), std::move(adaptation), std::move(sources));
}

}  // namespace feroma
