#pragma once

#include <memory>
#include <span>
#include <vector>

#include "feroma/data/view.h"
#include "feroma/engine/engine.h"
#include "feroma/models/spec.h"

namespace feroma {

/// Mean and variance of every channel of some features: what data of one domain look like to a model's first layer.
struct DomainStatistics {
  std::vector<double> mean;
  std::vector<double> variance;

  [[nodiscard]] bool empty() const { return mean.empty(); }
};

/// Symmetric divergence of the two as independent normal distributions, mean over channels; 0 where they are equal.
[[nodiscard]] double domain_distance(const DomainStatistics& a, const DomainStatistics& b);
/// decay * old + (1 - decay) * next; `next` where there is no old one.
[[nodiscard]] DomainStatistics moving_average(const DomainStatistics& old, DomainStatistics next, double decay);
/// The statistics of all domains' data thrown together, as much of each.
[[nodiscard]] DomainStatistics pooled(std::span<const DomainStatistics> domains);

/// Computes what a model's first layer with weights puts out, and nothing behind it.
class Stem {
 public:
  explicit Stem(const ModelSpec& model);

  /// Statistics over the samples, and over positions where the layer is a convolution. Reads no labels.
  [[nodiscard]] DomainStatistics statistics(const Parameters& model, const View& view);
  /// How many channels they are of.
  [[nodiscard]] std::size_t channels() const;

 private:
  ModelSpec spec_;
  bool convolution_ = false;
  std::unique_ptr<Engine> engine_;
};

}  // namespace feroma
