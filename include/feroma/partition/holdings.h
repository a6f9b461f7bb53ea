#pragma once

#include "feroma/core/rng.h"
#include "feroma/data/dataset.h"
#include "feroma/partition/scenario.h"
#include "feroma/partition/shares.h"

namespace feroma {

/// Who owns which samples, in both splits.
struct Holdings {
  Shares train;
  Shares test;
};

/// Equal shares of both splits, from the streams "train_pool" and "test_pool".
[[nodiscard]] Holdings equal_holdings(const Dataset& dataset, const ScenarioOptions& options, const Rng& rng);
/// What the scenario's shift says about who owns what; equal shares where it says nothing.
[[nodiscard]] Holdings make_holdings(const Dataset& dataset, const ScenarioOptions& options, const Rng& rng);

}  // namespace feroma
