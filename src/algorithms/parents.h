#pragma once

#include <optional>
#include <span>
#include <vector>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/feroma_options.h"
#include "feroma/mapping/match.h"

namespace feroma {

/// A model of the last round, or one kept from an earlier one, and what is known of the data it was trained on.
struct Parent {
  ClientId client{};
  ParametersPtr model;
  Profile profile;
  std::int64_t num_examples = 0;
  Round round = 0;                  ///< in which it was trained
  double held_out = 0;              ///< accuracy on the client's held-out split, in percent; 0 where nobody asked
  ParametersPtr mixture = nullptr;  ///< what it was trained from, momentum left out; null: nothing to carry on
};

[[nodiscard]] std::vector<Profile> profiles_of(std::span<const Parent> parents);
/// The round of the newest parents; older ones were kept for distributions that are gone.
[[nodiscard]] Round newest_round(std::span<const Parent> parents);

/// A client of the current round waiting for its mixture.
struct Receiver {
  ClientId client{};
  Profile profile;
  std::optional<Profile> next = {};  ///< by the encoder that comes after this round's mapping
};

/// Counts as they weigh. They are only claimed, so under a fold that is to bear liars nobody weighs more than the
/// median client does.
[[nodiscard]] std::vector<std::int64_t> believed_counts(const FeromaOptions& options, std::vector<std::int64_t> counts);

/// Who takes how much from whom, by profile: distances, kernel, threshold, counts, normalisation, in this order.
[[nodiscard]] Matrix mixing_matrix(const FeromaOptions& options, const ProfileShape& shape, const BlockScaler& scaler,
                                   std::span<const Receiver> receivers, std::span<const Parent> parents, Rng rng,
                                   const Parallel& parallel = in_turn);

/// The same with a share of every row replaced by the mean of the last round's models, where clients have the same
/// shares of classes. What they learn then stays of use to distributions that nobody has. Where shares differ, the mean
/// is a model of other tasks.
[[nodiscard]] Matrix with_global_share(const FeromaOptions& options, Matrix weights,
                                       std::span<const Receiver> receivers, std::span<const Parent> parents);

/// Weights over the parents for one test client; `label_free` compares only what needs no labels.
[[nodiscard]] std::vector<double> assignment_weights(const FeromaOptions& options, AssignRule rule,
                                                     const ProfileShape& shape, const BlockScaler& scaler,
                                                     const Profile& query, std::span<const Parent> parents,
                                                     bool label_free);

/// The trace of a mixing: strategies by the weights that profiles chose, contraction, column sums.
[[nodiscard]] RoundTrace trace_of(StrategyRule rule, std::span<const Receiver> receivers,
                                  std::span<const Parent> parents, const ProfileShape& shape, const Matrix& by_profile,
                                  Matrix mixing);

/// How far each receiver's profile is from the one it had as a parent, in units of their sampling noise; 0 where it is
/// the same one, absent where it was no parent or the profiles tell nothing. Any metric: noise is the same for all.
[[nodiscard]] std::vector<std::optional<double>> profile_moves(const ProfileShape& shape,
                                                               std::span<const Receiver> receivers,
                                                               std::span<const Parent> parents);

/// By effective parents: personal below 1.5, global above 80 % of all parents, clustered between. By support: personal
/// with one weight above 0, global where all are alike, else clustered.
[[nodiscard]] Strategy strategy_of(StrategyRule rule, std::span<const double> weights);

}  // namespace feroma
