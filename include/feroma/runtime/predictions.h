#pragma once

#include <span>
#include <string>

#include "feroma/data/dataset.h"
#include "feroma/runtime/assigned.h"

namespace feroma {

/// A CSV with one line per sample: the most probable class and its probability, or for multi-label data every class's.
[[nodiscard]] std::string predictions_csv(const Assigned& assigned, const Dataset& dataset,
                                          std::span<const float> probabilities);

}  // namespace feroma
