#include "algorithms/prototypes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

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
    require(!prototypes.knows(static_cast<std::int32_t>(labels[i])), ErrorCode::invalid_data,
            "[{}] a class must have one prototype, got another of class {}", owner, labels[i]);
    const auto row = std::span(rows).subspan(i * static_cast<std::size_t>(width), static_cast<std::size_t>(width));
    for (const float value : row) {
      require(std::isfinite(value), ErrorCode::invalid_data, "[{}] a prototype must be finite, got {}", owner, value);
    }
    prototypes.set(static_cast<std::int32_t>(labels[i]), row);
  }
  return prototypes;
}

Message ClassMeans::message() const {
  Ints held;
  for (const std::int64_t label : means.labels()) {
    held.push_back(counts[static_cast<std::size_t>(label)]);
  }
  return {{{"prototypes", means.rows()}, {"classes", means.labels()}, {"counts", held}}};
}

ClassSums::ClassSums(int classes, int width)
    : width_(width),
      sums_(static_cast<std::size_t>(classes) * static_cast<std::size_t>(width)),
      counts_(static_cast<std::size_t>(classes)) {}

void ClassSums::add(std::int32_t label, std::span<const float> latent) {
  const auto row = static_cast<std::size_t>(label);
  counts_[row] += 1;
  for (std::size_t j = 0; j < latent.size(); ++j) {
    sums_[row * latent.size() + j] += static_cast<double>(latent[j]);
  }
}

ClassMeans ClassSums::means() const {
  const auto size = static_cast<std::size_t>(width_);
  ClassMeans result{Prototypes(static_cast<int>(counts_.size()), width_), counts_};
  std::vector<float> mean(size);
  for (std::size_t label = 0; label < counts_.size(); ++label) {
    if (counts_[label] == 0) {
      continue;
    }
    for (std::size_t j = 0; j < size; ++j) {
      mean[j] = static_cast<float>(sums_[label * size + j] / static_cast<double>(counts_[label]));
    }
    result.means.set(static_cast<std::int32_t>(label), mean);
  }
  return result;
}

ClassMeans class_means(Trainer& trainer, const Parameters& model, const View& view, Latent latent, int classes,
                       int width) {
  const auto size = static_cast<std::size_t>(width);
  ClassSums sums(classes, width);
  trainer.latents(model, view, latent, [&](std::span<const float> rows, int, const Batch& batch) {
    for (std::size_t i = 0; i < batch.labels.size(); ++i) {
      sums.add(batch.labels[i], rows.subspan(i * size, size));
    }
  });
  return sums.means();
}

void check_prototypes(const Answer& answer, const Prototypes& like) {
  const auto width = static_cast<std::size_t>(like.width());
  const auto classes = static_cast<std::size_t>(like.classes());
  const std::size_t count = answer.rows("prototypes", width, 0, classes).size() / width;
  const Ints& labels = answer.integers("classes", count, 0, like.classes() - 1);
  answer.expect(std::set(labels.begin(), labels.end()).size() == count, "classes", "be named once each", count);
  answer.integers("counts", count, 1, kMostExamples);
}

Prototypes mean_prototypes(const std::map<ClientId, Message>& answers, const Prototypes& before, bool by_samples,
                           std::string_view owner) {
  const auto width = static_cast<std::size_t>(before.width());
  std::vector<double> sums(static_cast<std::size_t>(before.classes()) * width);
  std::vector<double> weights(static_cast<std::size_t>(before.classes()));
  for (const auto& [client, answer] : answers) {
    const Ints& labels = answer.ints("classes");
    const Ints& counts = answer.ints("counts");
    const Prototypes means =
        Prototypes::read(before.classes(), before.width(), answer.floats("prototypes"), labels, owner);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const double weight = by_samples ? static_cast<double>(counts[i]) : 1.0;
      const auto label = static_cast<std::size_t>(labels[i]);
      const std::span<const float> mean = means.of(static_cast<std::int32_t>(labels[i]));
      weights[label] += weight;
      for (std::size_t j = 0; j < width; ++j) {
        sums[label * width + j] += weight * static_cast<double>(mean[j]);
      }
    }
  }
  Prototypes after = before;
  std::vector<float> mean(width);
  for (std::size_t label = 0; label < weights.size(); ++label) {
    for (std::size_t j = 0; j < width && weights[label] > 0; ++j) {
      mean[j] = static_cast<float>(sums[label * width + j] / weights[label]);
    }
    if (weights[label] > 0) {
      after.set(static_cast<std::int32_t>(label), mean);
    }
  }
  return after;
}

std::unique_ptr<Predictor> make_nearest_prototype_predictor(ParametersPtr model, Prototypes prototypes, Latent latent) {
  return std::make_unique<NearestPrototypePredictor>(std::move(model), std::move(prototypes), latent);
}

}  // namespace feroma
