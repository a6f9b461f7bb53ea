#pragma once

#include <optional>
#include <string>
#include <vector>

#include "feroma/bench/figures.h"

namespace feroma {

/// One number measured for a requirement.
struct RequirementResult {
  std::string name;  ///< unique within its requirement
  std::string what;
  double value = 0;
  std::optional<Target> target = {};
  std::optional<double> published = {};  ///< the paper's own figure, never ours

  /// Absent without a target.
  [[nodiscard]] std::optional<bool> met() const;
};

/// One of the paper's five requirements on a distribution-profile extractor (its definition 3.1), as measured here.
struct Requirement {
  std::string id;  ///< R1 to R5
  std::string title;
  std::vector<std::string> notes = {};  ///< how it was measured, and what that does not show
  std::vector<RequirementResult> results = {};
  std::string dataset = {};  ///< on which it was measured; empty where it needs none, or has none

  /// Whether every target was met; absent where nothing with a target was measured.
  [[nodiscard]] std::optional<bool> met() const;
};

/// Measures all five on MNIST, or says in a note what could not be measured here.
[[nodiscard]] std::vector<Requirement> measure_requirements(const BenchOptions& options);

}  // namespace feroma
