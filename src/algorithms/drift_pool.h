#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "feroma/algorithms/feddrift.h"
#include "feroma/models/archive.h"

namespace feroma {

/// How well the candidates do on one window of a client: a sum over its samples for each, more is better.
struct WindowMerits {
  std::int64_t count = 0;
  std::vector<double> sums;
  double guess = 0;  ///< the sum that the labels' frequencies alone would get
};
/// By client and window.
using Merits = std::map<ClientId, std::map<int, WindowMerits>>;

/**
 * FedDrift's server state: the models that exist, and which of them every window of every client belongs to. Models
 * that were only copied share their weights, so memory grows with the models that differ.
 */
class DriftPool {
 public:
  DriftPool() = default;
  DriftPool(const FedDriftOptions& options, ParametersPtr initial);

  [[nodiscard]] bool started() const { return step_ > 0; }
  [[nodiscard]] bool knows(ClientId client, int window) const;
  /// The last window of the client that has a model.
  [[nodiscard]] std::optional<int> last_window(ClientId client) const;
  /// Which model each kept window of a client belongs to.
  [[nodiscard]] const std::map<int, int>& windows_of(ClientId client) const;
  [[nodiscard]] const std::map<int, ParametersPtr>& models() const { return models_; }
  /// The model of everybody's newest window.
  [[nodiscard]] std::map<ClientId, int> current_models() const;
  /// The models that are somebody's newest.
  [[nodiscard]] std::set<int> in_use() const;
  void set_model(int id, ParametersPtr model) { models_.at(id) = std::move(model); }

  /// Whether these windows, all of them new, begin a time step: a client that took part before must have reached a
  /// window beyond all steps so far. Who is new, or late, begins none.
  [[nodiscard]] bool begins_step(const std::map<ClientId, int>& windows) const;
  /// Models that clients may choose in the next time step: those that nobody keeps for itself.
  [[nodiscard]] std::vector<int> candidates() const { return candidates(step_ + 1); }
  /// Those that a client may choose which comes within the time step that is under way.
  [[nodiscard]] std::vector<int> candidates_now() const { return candidates(step_); }
  /// The first time step: everybody is new and nothing has been trained.
  void start(const std::map<ClientId, int>& windows);
  /// A later one. `windows` holds the new ones; `merits` has a sum for each candidate.
  void advance(const std::vector<int>& candidates, const std::map<ClientId, int>& windows, const Merits& merits);
  /// Clients that come within a step: each takes the best candidate, or where it has drifted and latecomers are tested
  /// a new model. Nothing merges.
  void join(const std::vector<int>& candidates, const std::map<ClientId, int>& windows, const Merits& merits);

  void save(ModelWriter& out) const;
  void load(ModelReader& in);

 private:
  struct Member {
    std::map<int, int> model_of_window;
    std::optional<double> merit;  ///< of the model it chose in the step before
    int isolated_until = 0;       ///< in steps before this one it keeps its own model

    [[nodiscard]] int current() const { return model_of_window.rbegin()->second; }
  };

  [[nodiscard]] std::vector<int> candidates(int step) const;
  void reach(const std::map<ClientId, int>& windows);
  void assign(Member& member, int window, int model);
  /// Gives every client its best candidate; returns those that do so much worse than before that they have drifted.
  std::vector<ClientId> choose(const std::vector<int>& candidates, const std::map<ClientId, int>& windows,
                               const Merits& merits);
  void renew(const std::vector<ClientId>& drifted, const std::map<ClientId, int>& windows);
  /// A new model with the weights of another; absent where the pool is full of models in use.
  [[nodiscard]] std::optional<int> copy_of(int model);
  void free_unused();
  void merge(const std::vector<int>& candidates, const Merits& merits);
  void merge_group(const std::vector<int>& group);
  void load_member(ModelReader& in);
  [[nodiscard]] std::size_t capacity() const;

  FedDriftOptions options_;
  ParametersPtr initial_;
  int step_ = 0;     ///< time steps so far
  int reached_ = 0;  ///< the last window of the clients that began them
  int next_id_ = 0;
  std::map<int, ParametersPtr> models_;
  std::map<int, int> used_;  ///< the step in which a model was last chosen
  std::map<ClientId, Member> members_;
};

/// How unlike models are: the most that one loses, per sample, on the other's data; row i, column j of `merit` is model
/// i on the data of model j. Symmetric, never negative, zero on the diagonal.
[[nodiscard]] Matrix drift_distances(const Matrix& merit);

}  // namespace feroma
