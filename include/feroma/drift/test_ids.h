#pragma once

#include <vector>

#include "feroma/core/rng.h"
#include "feroma/drift/schedule.h"
#include "feroma/partition/scenario.h"

namespace feroma {

/// Which distribution every client is tested on, by the scenario's test rule; needs the schedule's ids and stages.
/// Where the rule is `unseen` the ids were drawn before the sequences and are left alone.
void draw_test_ids(Schedule& schedule, const ScenarioOptions& options, const Rng& rng);

/// Gives the scenario's share of test clients a held-out distribution.
void draw_unseen_ids(Schedule& schedule, const ScenarioOptions& options, const Rng& rng);

}  // namespace feroma
