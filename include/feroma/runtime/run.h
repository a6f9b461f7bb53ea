#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "feroma/drift/federation.h"
#include "feroma/partition/shared_datasets.h"
#include "feroma/report/record.h"
#include "feroma/runtime/experiment.h"
#include "feroma/runtime/run_directory.h"

namespace feroma {

/// What somebody watching a run wants to know; empty members are not called. All calls come from one thread.
struct RunObserver {
  /// An algorithm starts, or goes on after `finished` of `rounds` rounds.
  std::function<void(const std::string& label, int finished, int rounds)> started;
  std::function<void(const RoundRecord&, int rounds)> round_finished;
  std::function<void(const ResultRecord&)> finished;
};

struct RunOptions {
  std::filesystem::path out;
  Existing existing = Existing::refuse;
  int threads = 1;
  RunObserver observer = {};
  /// Permutes the order in which clients run; the results must not change.
  std::optional<std::uint64_t> task_order_seed = {};
  /// Where several runs of one process keep their data; null reads the files.
  SharedDatasets* datasets = nullptr;
  /// What becomes of a run none of whose algorithms is applicable: a run with the reasons for results, or an
  /// `unsupported` error before anything is written.
  bool keep_not_applicable = false;
  /// What becomes of a run one of whose algorithms fails, because it diverges for example: a result that says so, after
  /// which the next algorithm is played, or the error.
  bool keep_failed = false;
};

/// Runs every algorithm of the experiment and writes the run directory; `stop` becoming true ends it with `interrupted`
/// after the state of the last finished round is saved. Several may run at once in one process if their SIMD targets
/// are the same; peak_rss_bytes is then that of all of them.
std::vector<ResultRecord> run_experiment(const Experiment& experiment, const RunOptions& options,
                                         const std::atomic<bool>& stop);

/// The same for a scenario file, uninterrupted: what `feroma run` does, as one call.
std::vector<ResultRecord> run_config(const std::filesystem::path& file, const RunOptions& options);

/// The clients and their data: the dataset is read, and the scenario's rules that need it are checked.
[[nodiscard]] std::unique_ptr<Federation> make_federation(const Experiment& experiment,
                                                          SharedDatasets* datasets = nullptr);

/// What is known of an algorithm before it runs.
struct AlgorithmCheck {
  std::optional<std::string> not_applicable;  ///< why it has no meaning for this model or these data
  int extra_rounds = 0;                       ///< after the scheduled ones
  /// Of a test client's sample, and of a stranger's; none where rounds cannot be tested.
  Passes to_serve = {};
  Passes to_serve_stranger = {};
  int mixed_to_serve = 0;  ///< models that are mixed into a test client's, by profiles
  std::string remark;      ///< what people should know of the method in this run; empty: nothing
};

/// Builds every algorithm once, so that options that cannot work with the model are refused before a run begins.
[[nodiscard]] std::vector<AlgorithmCheck> check_each_algorithm(const Experiment& experiment, const ModelSpec& model,
                                                               bool multi_label);
/// The same; if none of them is applicable, that is an `unsupported` error.
[[nodiscard]] std::vector<AlgorithmCheck> check_algorithms(const Experiment& experiment, const ModelSpec& model,
                                                           bool multi_label);

/// What a run would take; for `--dry-run`.
struct RunEstimate {
  int clients = 0;
  int rounds = 0;
  int extra_rounds = 0;  ///< after the scheduled ones, of all algorithms together
  int distributions = 0;
  int realised_changes = 0;
  std::int64_t samples_per_client_round = 0;
  std::int64_t steps = 0;  ///< SGD steps of one algorithm over the scheduled rounds
  std::int64_t parameters = 0;
  std::int64_t memory_bytes = 0;
  int test_every = 0;     ///< rounds from one test of what is served to the next; 0: never
  double test_share = 0;  ///< of the run's computation that these tests take
  double seconds = 0;     ///< of all algorithms, from a few timed steps on this machine; extra rounds count as the last
  std::vector<AdaptedDefault> adapted;  ///< defaults that gave way
};
/// Seconds of a training step, by what they depend on: engine, model, sizes.
using StepTimes = std::map<std::string, double>;
/// `known` keeps what was measured for further calls.
[[nodiscard]] RunEstimate estimate_run(const Experiment& given, int threads, SharedDatasets* datasets = nullptr,
                                       StepTimes* known = nullptr);

}  // namespace feroma
