#pragma once

#include <vector>

#include "feroma/drift/federation.h"
#include "feroma/runtime/experiment.h"
#include "feroma/runtime/run.h"

namespace feroma {

/// By default tests between rounds take at most this share of a run's computation.
inline constexpr double kMostForTests = 0.05;

/// How often rounds are tested, and what that costs. Counted in samples that go through models, never measured, so that
/// it is the same on every machine.
struct TestPlan {
  int every = 0;     ///< rounds from one test to the next; 0: never
  double share = 0;  ///< of the run's computation, about; the last round's test is the final one and costs nothing more
};

/// What `evaluation.every` comes to: the number that was given, or the least that the default may cost.
[[nodiscard]] TestPlan plan_tests(const Experiment& experiment, const Federation& federation, const ModelSpec& model,
                                  const std::vector<AlgorithmCheck>& checks);

}  // namespace feroma
