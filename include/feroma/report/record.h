#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace feroma {

/// One line of clients.csv.
struct ClientRecord {
  std::uint32_t client = 0;
  int distribution = 0;  ///< true id, for people and oracle metrics
  std::int64_t num_examples = 0;
  double loss = 0;  ///< not a number, as the accuracies, where a client does not tell it
  double accuracy_before = 0;
  double accuracy_after = 0;
  std::string strategy;  ///< global, clustered, personal; empty where the round had no mapping
  // Only in the events.
  std::int64_t bytes_up = 0;
  std::int64_t bytes_down = 0;
  std::optional<double> moved = {};    ///< of its profile since the last one, in noise floors
  std::optional<double> epsilon = {};  ///< spent so far; absent without a promise, or where only the client knows
};

/// A client that left a round, and why.
struct DroppedRecord {
  std::uint32_t client = 0;
  std::string reason;
};

/// One line of metrics.csv and what else is known of a round.
struct RoundRecord {
  std::string algorithm;  ///< label of the run: "feroma-auto", "fedavg"
  int round = 0;
  double loss = 0;
  double accuracy_before = 0;  ///< percent, mean over the clients that told; not a number where none did
  double accuracy_after = 0;
  std::optional<double> test_accuracy;  ///< of test clients served as after the last round; absent where none was
  double validation_loss = 0;           ///< of what the method would serve each client after the round
  double validation_accuracy = 0;
  std::optional<double> global_share;
  std::optional<double> clustered_share;
  std::optional<double> personal_share;
  std::optional<double> mixing_auc;  ///< how well the weights tell same from different distributions
  std::optional<double> contraction;
  std::optional<double> column_sum_min;
  std::optional<double> column_sum_max;
  double seconds = 0;
  std::int64_t bytes_up = 0;
  std::int64_t bytes_down = 0;
  std::optional<double> epsilon;
  std::vector<ClientRecord> clients;
  std::vector<DroppedRecord> dropped;
};

/// One object of summary.json's `results`; absent values are written as null.
struct ResultRecord {
  std::string label;  ///< unique within the run: "feroma-auto"
  std::string algorithm;
  std::optional<std::string> preset;  ///< absent for methods without presets
  std::int64_t seed = 0;
  double accuracy = 0;
  double accuracy_std_clients = 0;
  double accuracy_worst10 = 0;
  std::optional<double> accuracy_known;
  std::optional<double> accuracy_few_label;
  std::optional<double> accuracy_nearest;
  std::optional<double> accuracy_expectation;  ///< all clusters' predictions, weighted by their clients
  std::optional<double> accuracy_personal;     ///< the mean prediction of all clients' personal models
  std::optional<double> accuracy_best_round;
  std::optional<double> accuracy_newcomers;  ///< clients that arrived later, on the first model they were given
  std::string metric = "accuracy";
  std::optional<double> match_rate;
  /// How well the method tells samples of distributions that nobody trained on from others; 0.5 is a guess.
  std::optional<double> detection_auroc = {};
  double seconds_total = 0;
  std::map<std::string, double> seconds;
  double samples_per_second = 0;
  double bytes_up_per_client_round = 0;
  double bytes_down_per_client_round = 0;
  double forward_passes_per_client_round = 0;  ///< over the client's training samples, training included
  double backward_passes_per_client_round = 0;
  std::optional<double> test_forward_passes;  ///< per sample of a test client that is served the method's own way
  std::optional<double> test_backward_passes;
  std::optional<double> test_bytes_up;  ///< per test client, but for the models that it predicts with
  std::optional<double> test_bytes_down;
  std::optional<std::int64_t> profile_floats;
  std::optional<std::int64_t> peak_rss_bytes;  ///< of the process so far; absent where nothing was run
  std::optional<double> epsilon;
  std::optional<std::string> dp_guarantee;    ///< what is promised, or "none" and why; absent where nothing is noised
  std::optional<std::string> not_applicable;  ///< why the method has no meaning here; it was not run
  std::optional<std::string> failed;          ///< why it ended before its last round; it has no figures then
};

}  // namespace feroma
