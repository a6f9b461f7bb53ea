#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>

#include "feroma/core/stop.h"
#include "feroma/net/server.h"
#include "feroma/store/round_log.h"
#include "net/hub.h"

namespace feroma::net {

/// A federation's algorithm as it is before the first round.
[[nodiscard]] std::unique_ptr<Algorithm> first_algorithm(const Experiment& experiment, bool multi_label,
                                                         const ModelSpec& model, const ParametersPtr& initial,
                                                         const Rng& rng);

/// Reads the last finished round as a server that goes on from it does; an error names the file that is damaged. Writes
/// nothing.
void prove_loadable(const FederationPlan& plan, const RoundLog& log);
/// What is wrong with a finished server's `results/`; empty where they can be served, or are not there.
[[nodiscard]] std::string damage_of_results(const FederationPlan& plan);
/// The scale that the federation's inputs have; empty where they are as they are, or before it is fixed. An
/// invalid_data error where the federation has finished rounds without one that its models need.
[[nodiscard]] InputScales scales_in(const RoundLog& log, const FederationPlan& plan);

/**
 * Drives a federation: begins rounds when enough clients are there, runs the algorithm over the hub, and finishes each
 * round on disk before anybody is told. Started again over the same folder, it goes on after the last finished round.
 */
class Coordinator {
 public:
  Coordinator(const FederationPlan& plan, const Stop& stop);
  ~Coordinator();

  [[nodiscard]] Hub& hub() { return *hub_; }
  [[nodiscard]] const std::string& job() const { return log_.job().id; }
  /// What is played: the plan, for going on with what the federation was begun with.
  [[nodiscard]] const FederationPlan& plan() const { return plan_; }
  /// The algorithm after the last finished round, to serve others with; null before the first. From any thread.
  [[nodiscard]] std::shared_ptr<const Algorithm> committed();
  /// Rounds, clients and traffic just now; from any thread.
  [[nodiscard]] ServerStatus status() const;
  /// Plays all rounds that are left and writes the results; an `interrupted` error when it is told to stop.
  void run();

 private:
  struct Files;

  [[nodiscard]] std::unique_ptr<Algorithm> fresh_algorithm() const;
  /// The last round: the config's and those that the algorithm adds, or the one after which it had to end.
  [[nodiscard]] Round final_round() const;
  /// The algorithm as it was after the last finished round.
  void restore();
  /// Asks the clients for the sums of their inputs and fixes the scale. False where nobody's could be believed.
  [[nodiscard]] bool fix_scales();
  /// Those who are asked in the next round: of an interrupted one the same again, else a share of who is there.
  [[nodiscard]] std::vector<ClientId> gather();
  /// False where nobody answered: the round is begun again.
  [[nodiscard]] bool play_round();
  /// Finishes a round on disk: from then on it stands. `counted` is how many phases of whose answers went in.
  void commit(const RoundRecord& record, const std::map<ClientId, int>& counted);
  /// What clients and visitors have released, as the log has it.
  [[nodiscard]] ReleaseCounts released() const;
  /// Keeps how often one of them has; from any thread.
  void keep_count(const std::string& releaser, const ReleaseCount& count);
  /// Lets people know of a finished round.
  void tell(RoundRecord record);
  void finish();

  const Stop& stop_;
  RoundLog log_;
  const FederationPlan plan_;  ///< as the federation was begun
  const Clock& clock_ = *plan_.server.clock;
  ModelSpec model_;
  Rng rng_;
  ParametersPtr initial_;
  std::unique_ptr<Algorithm> algorithm_;
  std::mutex committing_;                       ///< held while the log is written or read
  std::shared_ptr<const Algorithm> committed_;  ///< made when it is first asked for; empty after each round
  std::set<ClientId> forgetful_;  ///< clients that lost what they were sent; known until a round is finished
  std::atomic<std::uint64_t> repetitions_ = 0;  ///< of the next round, because too few answered
  std::map<ClientId, Counted> counted_;         ///< the last finished round that each client's answers went into
  std::unique_ptr<Hub> hub_;
  std::unique_ptr<Files> files_;
  const Clock::time_point began_ = clock_.now();
  mutable std::mutex telling_;  ///< guards what follows
  std::optional<LastRound> last_round_;
  Round finished_ = 0;
  Round planned_ = 0;
  /// When a round was finished, or the next one begun; later by as long as clients were waited for since.
  Clock::time_point moved_ = clock_.now();
  std::optional<Clock::time_point> gathering_;  ///< since when clients are waited for
};

}  // namespace feroma::net
