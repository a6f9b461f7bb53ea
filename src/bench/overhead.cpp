#include <fmt/core.h>

#include "bench/cell.h"
#include "bench/measurements.h"
#include "bench/workload.h"

namespace feroma::detail {
namespace {

const char* const kOverhead = "feroma_over_fedavg";

}  // namespace

Readings measure_overhead(const BenchOptions& options) {
  Readings readings;
  const std::string dataset = available_dataset();
  note_dataset(readings, dataset, {kOverhead});
  if (dataset.empty()) {
    return readings;
  }
  std::vector<std::string> overrides{fmt::format("scenario.dataset={}", dataset)};
  if (options.quick) {
    overrides.insert(overrides.end(), {"scenario.clients=4", "scenario.rounds=8", "scenario.drifts=4"});
    readings.notes[kOverhead] += fmt::format("{}4 clients x 8 rounds", readings.notes[kOverhead].empty() ? "" : "; ");
  }
  const Experiment experiment = experiment_of(overhead_config(), overrides);
  Cell cell(experiment, options.threads);
  const int pairs = options.quick ? 1 : 5;
  std::vector<double> ratios;
  std::vector<double> fedavg_seconds;
  std::vector<double> feroma_seconds;
  for (int pair = 0; pair < pairs; ++pair) {
    say(options,
        fmt::format("Feroma against FedAvg on {} P(X), round by round: pair {} of {}", dataset, pair + 1, pairs));
    RoundLoop fedavg = cell.loop("fedavg");
    RoundLoop feroma = cell.loop("feroma-auto");
    for (int round = 0; round < experiment.scenario.rounds; ++round) {
      static_cast<void>(fedavg.play_round());
      static_cast<void>(feroma.play_round());
    }
    fedavg_seconds.push_back(phase_seconds(fedavg));
    feroma_seconds.push_back(phase_seconds(feroma));
    ratios.push_back(feroma_seconds.back() / fedavg_seconds.back());
  }
  readings.values[kOverhead] = quartiles_of(ratios);
  readings.values["fedavg_phases_s"] = quartiles_of(fedavg_seconds);
  readings.values["feroma_phases_s"] = quartiles_of(feroma_seconds);
  return readings;
}

}  // namespace feroma::detail
