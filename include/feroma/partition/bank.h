#pragma once

#include <cstdint>
#include <optional>
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
    int domain = -1;                ///< natural: the only domain it contains; -1: all

    [[nodiscard]] bool keeps(const Samples& samples, std::uint32_t source) const {
      return keeps_class[static_cast<std::size_t>(samples.labels[source])] &&
             (domain < 0 || samples.domains[source] == domain);
    }
  };
  std::vector<Entry> entries;
  int held_out = 0;                       ///< the last so many entries never occur in training
  int unlisted = 0;                       ///< distributions made on demand: too many to list, or one for each client
  std::vector<std::uint32_t> fresh_pool;  ///< P(Y|X) without a list: the classes that every new permutation mixes

  [[nodiscard]] int size() const { return static_cast<int>(entries.size()) + unlisted; }
  /// Distributions that clients may train on: ids 1..trained().
  [[nodiscard]] int trained() const { return size() - held_out; }
  [[nodiscard]] bool lists(int id) const { return id >= 1 && id <= static_cast<int>(entries.size()); }
  [[nodiscard]] const Entry& entry(int id) const { return entries[static_cast<std::size_t>(id - 1)]; }
};

/// Explicit bank parameters; a level is a name for a set of them (Feroma's experiments).
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
/// Pools of at most so many classes have all their permutations listed: 8! = 40 320.
inline constexpr int kMaxListedClasses = 8;
/// P(Y|X): whether every client draws a new permutation at each stage, because there are too many to list.
[[nodiscard]] bool has_fresh_permutations(const ScenarioOptions& options, int classes);
/// Different class sets an entry could have, capped at a billion.
[[nodiscard]] std::int64_t class_sets(int classes, int chosen);
/// Whether an entry of the scenario's bank is a set of classes, which it keeps or transforms.
[[nodiscard]] bool has_class_sets(const ScenarioOptions& options);
/// How many entries the scenario's bank can have where all must keep or transform other classes; absent where they need
/// not.
[[nodiscard]] std::optional<std::int64_t> most_class_sets(const ScenarioOptions& options, int classes);

/// Every (angle, colour) of a bank, angle-major.
[[nodiscard]] std::vector<Transform> make_patterns(int rotations, int colours);
/// A recipe that changes nothing.
[[nodiscard]] Recipe identity_recipe(int classes);
/// Labels of `pool` replaced by those of `image`, position by position; the rest stays.
[[nodiscard]] Recipe permuted_recipe(int classes, const std::vector<std::uint32_t>& pool,
                                     const std::vector<std::uint32_t>& image);

/// Builds the bank from the stream "bank" of `rng`; the options must have passed their check. Natural distributions are
/// the dataset's `domains`.
[[nodiscard]] Bank make_bank(const ScenarioOptions& options, int classes, const Rng& rng, int domains = 0);
/// Appends the entries that unseen test clients get; those held out of the bank itself move to its end.
void add_held_out_entries(Bank& bank, const ScenarioOptions& options, int classes, const Rng& rng);
/// How many of them there are; 0 where the shift has none.
[[nodiscard]] std::int64_t held_out_size(const ScenarioOptions& options, int classes);

}  // namespace feroma
