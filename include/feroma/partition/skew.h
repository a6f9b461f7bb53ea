#pragma once

#include "feroma/partition/scenario.h"

namespace feroma {

/// A client's value is uniform on it.
struct Range {
  double low = 0;
  double high = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

/// How strongly clients differ where each has a distribution of its own (static and trND_teDR).
struct SkewParameters {
  int rotations = 1;         ///< angles, or angles of a product with colours
  int colours = 1;           ///< 1 gray, 2 red blue, 3 red blue green
  int targeted_classes = 0;  ///< P(X|Y): classes that are turned, and as many that are tinted
  int swapped_classes = 0;   ///< P(Y|X): size of the permuted pool
  Range skew;                ///< P(X): of the ranking; P(Y|X): probability that a label is replaced
  Range label_skew;          ///< P(Y): exponent of class counts (static), or of the ranking (trND_teDR)
  double label_factor = 1;   ///< what the drawn exponent is multiplied by
  double quantity_std = 0;
  double alpha = 0;
  int classes_per_client = 0;
  int shards_per_client = 0;
};

/// 0, 1, 2.
[[nodiscard]] int level_index(Level level);
/// The level's parameters with the scenario's explicit ones over them.
[[nodiscard]] SkewParameters skew_parameters(const ScenarioOptions& options, int classes);

}  // namespace feroma
