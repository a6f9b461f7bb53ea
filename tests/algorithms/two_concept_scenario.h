#pragma once

#include "tests/algorithms/toy_run.h"

namespace feroma::test {

/// Two label permutations of the same pictures; every client has one of them all the time.
inline ScenarioOptions two_concepts(int rounds, int clients = 10) {
  ScenarioOptions scenario = toy_scenario();
  scenario.shift = Shift::concept_label;
  scenario.swapped_classes = 10;
  scenario.perm_bank = 2;
  scenario.clients = clients;
  scenario.rounds = rounds;
  scenario.drifts = 1;
  return scenario;
}

/// Whether clients of different distributions are there in the last round, and no two of them use the same model.
inline bool separates_concepts(const Federation& federation, const ClusterView& view) {
  bool differ = false;
  for (const auto& [a, shares] : view.shares) {
    for (const auto& [b, other] : view.shares) {
      const Round last = federation.options().rounds;
      const bool alike = federation.shard(a, last).distribution == federation.shard(b, last).distribution;
      differ = differ || !alike;
      if (!alike && shares == other) {
        return false;
      }
    }
  }
  return differ;
}

}  // namespace feroma::test
