#pragma once

#include <cstddef>
#include <vector>

#include "feroma/core/rng.h"
#include "feroma/data/dataset.h"
#include "feroma/partition/label_skew.h"

namespace feroma {

/// A Dirichlet partition is drawn anew until every client has so many training samples.
inline constexpr std::size_t kDirichletMinimum = 20;

/// One draw of Dir(alpha, .., alpha); sums to one, also where alpha is tiny.
[[nodiscard]] std::vector<double> draw_dirichlet(double alpha, std::size_t count, Rng& rng);

/// Each class is divided in random proportions, the same for training and test.
[[nodiscard]] SplitLists dirichlet_lists(const Dataset& dataset, std::size_t clients, double alpha, const Rng& rng);
/// Each client has samples of a few classes; a class is divided evenly among those who have it.
[[nodiscard]] SplitLists pathological_lists(const Dataset& dataset, std::size_t clients, int classes_per_client,
                                            const Rng& rng);
/// The data sorted by class and cut into equal shards; each client gets a few at random.
[[nodiscard]] SplitLists shard_lists(const Dataset& dataset, std::size_t clients, int shards_per_client,
                                     const Rng& rng);

/// How many different people own the samples of a split.
[[nodiscard]] std::size_t owner_count(const Samples& samples);
/// Whether everybody who owns training samples also owns test samples.
[[nodiscard]] bool same_owners(const Dataset& dataset);
/// Samples by their owners, who are dealt to the clients in turn. Where the test split is of other people, those are
/// dealt in the same way.
[[nodiscard]] SplitLists owner_lists(const Dataset& dataset, std::size_t clients, std::size_t test_clients);

}  // namespace feroma
