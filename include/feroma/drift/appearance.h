#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "feroma/core/rng.h"
#include "feroma/drift/rows.h"
#include "feroma/partition/scenario.h"
#include "feroma/partition/skew.h"

namespace feroma {

/**
 * What samples look like to a client that has a distribution of its own: each sample draws its recipe. P(X): an angle
 * and a colour by the client's ranking of them; P(Y|X): the client's permutation, with a probability; P(X|Y): an angle
 * and a colour per class. In trND_teDR the test data have another ranking, permutation or choice.
 */
class Appearance {
 public:
  /// Which of a client's data: few labels are drawn like its test data, but on their own.
  enum class Part { train, test, few_labels };

  Appearance(const ScenarioOptions& options, int classes, const Rng& rng);

  [[nodiscard]] SampleRows rows(std::size_t client, Part part, std::span<const std::uint32_t> sources) const;

 private:
  /// Streams of a client that its test data share with training unless tests drift.
  [[nodiscard]] Rng client_stream(const char* purpose, std::size_t client, Part part) const;
  [[nodiscard]] SampleRows unchanged(std::span<const std::uint32_t> sources) const;
  [[nodiscard]] SampleRows ranked(std::size_t client, Part part, std::span<const std::uint32_t> sources) const;
  [[nodiscard]] SampleRows ranked_patterns(std::size_t client, Part part, std::span<const std::uint32_t> sources) const;
  [[nodiscard]] SampleRows swapped(std::size_t client, Part part, std::span<const std::uint32_t> sources) const;
  [[nodiscard]] SampleRows targeted(std::size_t client, Part part, std::span<const std::uint32_t> sources) const;

  Shift shift_;
  DriftMode mode_;
  TestOrder test_order_;
  int classes_;
  SkewParameters parameters_;
  Rng rng_;                                             ///< never drawn from
  std::vector<std::uint32_t> pool_;                     ///< P(Y|X): classes whose labels are mixed
  std::vector<std::uint32_t> turned_;                   ///< P(X|Y): classes whose pictures are turned
  std::vector<std::uint32_t> tinted_;                   ///< P(X|Y): classes whose pictures are tinted
  std::shared_ptr<const std::vector<Recipe>> recipes_;  ///< one per pattern, angle-major; shared with all views
};

}  // namespace feroma
