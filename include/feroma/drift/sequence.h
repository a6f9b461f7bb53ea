#pragma once

#include <vector>

#include "feroma/core/rng.h"
#include "feroma/partition/scenario.h"

namespace feroma {

/**
 * The distributions one client goes through, ids 1..bank without `excluded` (0: none). Uniform draws until the client
 * has seen as many as it may. From then on `clean` draws among those uniformly; the paper's generator repeats past
 * values in proportion to their counts (a Polya urn); a continual client stays where it is.
 */
[[nodiscard]] std::vector<int> draw_sequence(const ScenarioOptions& options, int bank, int excluded, Rng rng);

/// Ids that nobody may have in the last stage, for tests on what was trained on earlier: a third of the bank.
[[nodiscard]] std::vector<int> draw_retired(int bank, Rng rng);
/// Replaces a retired last id by another that is not retired.
void retire_last(std::vector<int>& ids, const std::vector<int>& retired, int bank, bool force_change, Rng rng);

}  // namespace feroma
