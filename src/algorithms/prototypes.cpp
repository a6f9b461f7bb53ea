#include "algorithms/prototypes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "feroma/core/error.h"
#include "feroma/core/portable_math.h"

namespace feroma {
namespace {

class NearestPrototypePredictor final : public Predictor {
 public:
  NearestPrototypePredictor(ParametersPtr model, Prototypes prototypes, Latent latent)
      : model_(std::move(model)), prototypes_(std::move(prototypes)), latent_(latent) {}

  std::vector<float> predict(Trainer& trainer, const View& view) override {
    std::vector<float> all;
    trainer.latents(*model_, view, latent_, [&](std::span<const float> rows, int width, const Batch&) {
      for (std::size_t start = 0; start < rows.size(); start += static_cast<std::size_t>(width)) {
        append_probabilities(rows.subspan(start, static_cast<std::size_t>(width)), all);
      }
    });
    return all;
  }
  [[nodiscard]] const ModelShares& sources() const override { return none_; }

 private:
  void append_probabilities(std::span<const float> latent, std::vector<float>& out) const {
    std::vector<double> distances;
    double nearest = std::numeric_limits<double>::infinity();
    for (std::int32_t label = 0; label < prototypes_.classes(); ++label) {
      distances.push_back(prototypes_.knows(label) ? squared_distance(latent, prototypes_.of(label))
                                                   : std::numeric_limits<double>::infinity());
      nearest = std::min(nearest, distances.back());
    }
    double sum = 0;
    for (double& distance : distances) {
      distance = std::isinf(distance) ? 0.0 : portable_exp(nearest - distance);
      sum += distance;
    }
    for (const double weight : distances) {
      out.push_back(static_cast<float>(weight / sum));
    }
  }

  static double squared_distance(std::span<const float> a, std::span<const float> b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
      sum += difference * difference;
    }
    return sum;
  }

  ParametersPtr model_;
  Prototypes prototypes_;
  Latent latent_;
  ModelShares none_;
};

}  // namespace

Prototypes::Prototypes(int classes, int width)
    : width_(width),
      known_(static_cast<std::size_t>(classes)),
      means_(static_cast<std::size_t>(classes) * static_cast<std::size_t>(width)) {}

bool Prototypes::empty() const { return std::find(known_.begin(), known_.end(), true) == known_.end(); }

std::span<const float> Prototypes::of(std::int32_t label) const {
  const auto width = static_cast<std::size_t>(width_);
  return std::span(means_).subspan(static_cast<std::size_t>(label) * width, width);
}

void Prototypes::set(std::int32_t label, std::span<const float> mean) {
  known_[static_cast<std::size_t>(label)] = true;
  std::copy(mean.begin(), mean.end(), means_.begin() + static_cast<std::ptrdiff_t>(label) * width_);
}

Floats Prototypes::rows() const {
  Floats rows;
  for (const std::int64_t label : labels()) {
    const std::span<const float> row = of(static_cast<std::int32_t>(label));
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

Ints Prototypes::labels() const {
  Ints labels;
  for (std::size_t label = 0; label < known_.size(); ++label) {
    if (known_[label]) {
      labels.push_back(static_cast<std::int64_t>(label));
    }
  }
  return labels;
}

Prototypes Prototypes::read(int classes, int width, const Floats& rows, const Ints& labels, std::string_view owner) {
  require(rows.size() == labels.size() * static_cast<std::size_t>(width), ErrorCode::invalid_data,
          "[{}] {} prototypes must have {} values each, got {} in all", owner, labels.size(), width, rows.size());
  Prototypes prototypes(classes, width);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    require(labels[i] >= 0 && labels[i] < classes, ErrorCode::invalid_data,
            "[{}] a prototype's class must be in 0..{}, got {}", owner, classes - 1, labels[i]);
    const auto row = std::span(rows).subspan(i * static_cast<std::size_t>(width), static_cast<std::size_t>(width));
    for (const float value : row) {
      require(std::isfinite(value), ErrorCode::invalid_data, "[{}] a prototype must be finite, got {}", owner, value);
    }
    prototypes.set(static_cast<std::int32_t>(labels[i]), row);
  }
  return prototypes;
}

ClassMeans class_means(Trainer& trainer, const Parameters& model, const View& view, Latent latent, int classes,
                       int width) {
  const auto size = static_cast<std::size_t>(width);
  std::vector<double> sums(static_cast<std::size_t>(classes) * size);
  ClassMeans result{Prototypes(classes, width), Ints(static_cast<std::size_t>(classes))};
  trainer.latents(model, view, latent, [&](std::span<const float> rows, int, const Batch& batch) {
    for (std::size_t i = 0; i < batch.labels.size(); ++i) {
      const auto label = static_cast<std::size_t>(batch.labels[i]);
      result.counts[label] += 1;
      for (std::size_t j = 0; j < size; ++j) {
        sums[label * size + j] += static_cast<double>(rows[i * size + j]);
      }
    }
  });
  std::vector<float> mean(size);
  for (std::int32_t label = 0; label < classes; ++label) {
    const auto row = static_cast<std::size_t>(label);
    if (result.counts[row] == 0) {
      continue;
    }
    for (std::size_t j = 0; j < size; ++j) {
      mean[j] = static_cast<float>(sums[row * size + j] / static_cast<double>(result.counts[row]));
    }
    result.means.set(label, mean);
  }
  return result;
}

std::unique_ptr<Predictor> make_nearest_prototype_predictor(ParametersPtr model, Prototypes prototypes, Latent latent) {
  return std::make_unique<NearestPrototypePredictor>(std::move(model), std::move(prototypes), latent);
}

}  // namespace feroma
