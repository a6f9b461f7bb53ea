#pragma once

#include <array>

namespace feroma::detail {

/// The keys of `seconds`, in the order of a round.
inline constexpr std::array<const char*, 7> kStages{"data", "train", "profile", "map", "aggregate", "evaluate", "save"};

/// The fields of a result under their names: one list for everything that writes or reads it.
template <class Record, class Visit>
void visit_result(Record& record, Visit&& visit) {
  visit("label", record.label);
  visit("algorithm", record.algorithm);
  visit("preset", record.preset);
  visit("seed", record.seed);
  visit("accuracy", record.accuracy);
  visit("accuracy_std_clients", record.accuracy_std_clients);
  visit("accuracy_worst10", record.accuracy_worst10);
  visit("accuracy_known", record.accuracy_known);
  visit("accuracy_few_label", record.accuracy_few_label);
  visit("accuracy_nearest", record.accuracy_nearest);
  visit("accuracy_best_round", record.accuracy_best_round);
  visit("metric", record.metric);
  visit("match_rate", record.match_rate);
  visit("seconds_total", record.seconds_total);
  visit("seconds", record.seconds);
  visit("samples_per_second", record.samples_per_second);
  visit("bytes_up_per_client_round", record.bytes_up_per_client_round);
  visit("bytes_down_per_client_round", record.bytes_down_per_client_round);
  visit("profile_floats", record.profile_floats);
  visit("peak_rss_bytes", record.peak_rss_bytes);
  visit("epsilon", record.epsilon);
  visit("accuracy_newcomers", record.accuracy_newcomers);
  visit("accuracy_expectation", record.accuracy_expectation);
  visit("accuracy_personal", record.accuracy_personal);
  visit("forward_passes_per_client_round", record.forward_passes_per_client_round);
  visit("backward_passes_per_client_round", record.backward_passes_per_client_round);
  visit("test_forward_passes", record.test_forward_passes);
  visit("test_backward_passes", record.test_backward_passes);
  visit("test_bytes_up", record.test_bytes_up);
  visit("test_bytes_down", record.test_bytes_down);
  visit("not_applicable", record.not_applicable);
  visit("dp_guarantee", record.dp_guarantee);
  visit("failed", record.failed);
  visit("detection_auroc", record.detection_auroc);
}

}  // namespace feroma::detail
