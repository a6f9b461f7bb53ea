#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "feroma/algorithms/answers.h"
#include "feroma/algorithms/predictor.h"
#include "feroma/models/message.h"
#include "feroma/models/spec.h"

namespace feroma {

/// A mean latent for each class; a class that nobody has shown yet has none.
class Prototypes {
 public:
  Prototypes() = default;
  Prototypes(int classes, int width);

  [[nodiscard]] int classes() const { return static_cast<int>(known_.size()); }
  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] bool knows(std::int32_t label) const { return known_[static_cast<std::size_t>(label)]; }
  [[nodiscard]] bool empty() const;
  [[nodiscard]] std::span<const float> of(std::int32_t label) const;
  void set(std::int32_t label, std::span<const float> mean);

  /// The rows of known classes, and which classes those are.
  [[nodiscard]] Floats rows() const;
  [[nodiscard]] Ints labels() const;
  /// From a message's rows and labels; what does not fit `classes` and `width` is an invalid_data error of `owner`.
  [[nodiscard]] static Prototypes read(int classes, int width, const Floats& rows, const Ints& labels,
                                       std::string_view owner);

 private:
  int width_ = 0;
  std::vector<bool> known_;
  std::vector<float> means_;  ///< classes x width
};

/// The mean latent of each class of a view, and how many samples it has.
struct ClassMeans {
  Prototypes means;
  Ints counts;  ///< per class

  /// Prototypes, classes and counts of what there is, as an answer to the server; `mean_prototypes` reads them.
  [[nodiscard]] Message message() const;
};
/// Adds up latents by class.
class ClassSums {
 public:
  ClassSums(int classes, int width);
  void add(std::int32_t label, std::span<const float> latent);
  [[nodiscard]] ClassMeans means() const;

 private:
  int width_;
  std::vector<double> sums_;
  Ints counts_;
};
[[nodiscard]] ClassMeans class_means(Trainer& trainer, const Parameters& model, const View& view, Latent latent,
                                     int classes, int width);

/// Refuses prototypes that cannot be believed: other sizes, classes that do not exist or come twice, empty ones.
void check_prototypes(const Answer& answer, const Prototypes& like);

/// The means of the answers' prototypes, each weighted by its samples or as much as any other; a class that nobody
/// holds keeps the prototype of `before`. What does not fit is an invalid_data error of `owner`.
[[nodiscard]] Prototypes mean_prototypes(const std::map<ClientId, Message>& answers, const Prototypes& before,
                                         bool by_samples, std::string_view owner);

/// Predicts by exp(-squared distance) to the prototypes; a class without one is never predicted.
[[nodiscard]] std::unique_ptr<Predictor> make_nearest_prototype_predictor(ParametersPtr model, Prototypes prototypes,
                                                                          Latent latent);

}  // namespace feroma
