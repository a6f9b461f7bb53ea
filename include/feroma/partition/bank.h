#pragma once

#include <cstdint>
#include <vector>

#include "feroma/core/rng.h"
#include "feroma/data/view.h"
#include "feroma/partition/scenario.h"

namespace feroma {

/// The distributions of a scenario, shared by all clients; id i is entries[i - 1].
struct Bank {
  struct Entry {
    Recipe recipe;
    std::vector<bool> keeps_class;  ///< P(Y): which source classes the distribution contains
  };
  std::vector<Entry> entries;

  [[nodiscard]] int size() const { return static_cast<int>(entries.size()); }
  [[nodiscard]] const Entry& entry(int id) const { return entries[static_cast<std::size_t>(id - 1)]; }
};

/// Explicit bank parameters; a level is a name for a set of them (Feroma's experiments, 10 classes).
struct BankParameters {
  int rotations = 1;          ///< R: angles i * 360 / R
  int colours = 1;            ///< C: 1 gray, 2 red blue, 3 red blue green
  int entries = 0;            ///< P(Y), P(X|Y): bank size
  int classes_per_entry = 0;  ///< P(Y): classes kept; P(X|Y): classes transformed
  int swapped_classes = 0;    ///< P(Y|X): size of the permuted pool
};
/// The level's parameters with the scenario's explicit ones over them.
[[nodiscard]] BankParameters bank_parameters(const ScenarioOptions& options, int classes);
/// How many distributions a bank with these parameters has.
[[nodiscard]] std::int64_t bank_size(Shift shift, const BankParameters& parameters);
/// Builds the bank from the stream "bank" of `rng`; the options must have passed their check.
[[nodiscard]] Bank make_bank(const ScenarioOptions& options, int classes, const Rng& rng);

}  // namespace feroma
