#include <fmt/core.h>

#include <algorithm>
#include <atomic>

#include "bench/measurements.h"
#include "bench/workload.h"
#include "feroma/core/error.h"
#include "feroma/data/catalog.h"
#include "feroma/runtime/round_loop.h"

namespace feroma::detail {
namespace {

const char* const kFigure = "feroma_over_fedavg";

const AlgorithmPlan& plan_of(const Experiment& experiment, std::string_view label) {
  const auto& plans = experiment.algorithms;
  const auto found = std::find_if(plans.begin(), plans.end(), [&](const auto& plan) { return plan.label == label; });
  require(found != plans.end(), ErrorCode::internal, "[bench] the built-in config must have {}", label);
  return *found;
}

/// What an algorithm itself costs: neither making data nor scoring.
double phase_seconds(RoundLoop& loop) {
  StageSeconds& seconds = loop.totals().stages;
  return seconds[Stage::train] + seconds[Stage::profile] + seconds[Stage::map] + seconds[Stage::aggregate];
}

/// The cell's data, model and workers, made once; every pair starts from the same bits.
class Cell {
 public:
  Cell(const Experiment& experiment, int threads)
      : experiment_(experiment),
        federation_(load_dataset(experiment.scenario.dataset, {}), experiment.scenario),
        model_(make_model(experiment.training.model, federation_.shape(), federation_.classes())),
        initial_(share(initialise(model_, rng_.derive("init")))),
        workers_(threads, engine_factory(experiment.engine(), model_)) {}

  [[nodiscard]] RoundLoop loop(std::string_view label) {
    ServerContext server;
    server.model = model_;
    server.initial = initial_;
    server.fit = experiment_.training.fit;
    server.rng = rng_.derive("server");
    return RoundLoop({federation_, plan_of(experiment_, label), server, workers_, rng_, stop_, std::nullopt});
  }

 private:
  const Experiment& experiment_;
  Federation federation_;
  ModelSpec model_;
  Rng rng_{42};
  ParametersPtr initial_;
  std::atomic<bool> stop_ = false;
  Workers workers_;
};

}  // namespace

Readings measure_overhead(const BenchOptions& options) {
  Readings readings;
  const std::string dataset = available_dataset();
  note_dataset(readings, dataset, {kFigure});
  if (dataset.empty()) {
    return readings;
  }
  std::vector<std::string> overrides{fmt::format("scenario.dataset={}", dataset)};
  if (options.quick) {
    overrides.insert(overrides.end(), {"scenario.clients=4", "scenario.rounds=8", "scenario.drifts=4"});
    readings.notes[kFigure] += fmt::format("{}4 clients x 8 rounds", readings.notes[kFigure].empty() ? "" : "; ");
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
  readings.values[kFigure] = quartiles_of(ratios);
  readings.values["fedavg_phases_s"] = quartiles_of(fedavg_seconds);
  readings.values["feroma_phases_s"] = quartiles_of(feroma_seconds);
  return readings;
}

}  // namespace feroma::detail
