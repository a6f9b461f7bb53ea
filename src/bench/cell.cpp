#include "bench/cell.h"

#include <algorithm>

#include "feroma/core/error.h"
#include "feroma/data/catalog.h"

namespace feroma::detail {
namespace {

const AlgorithmPlan& plan_of(const Experiment& experiment, std::string_view label) {
  const auto& plans = experiment.algorithms;
  const auto found = std::find_if(plans.begin(), plans.end(), [&](const auto& plan) { return plan.label == label; });
  require(found != plans.end(), ErrorCode::internal, "[bench] the built-in config must have {}", label);
  return *found;
}

}  // namespace

Cell::Cell(const Experiment& experiment, int threads)
    : experiment_(experiment),
      federation_(load_dataset(experiment.scenario.dataset, {}), experiment.scenario),
      model_(make_model(experiment.training.model, federation_.shape(), federation_.classes())),
      initial_(share(initialise(model_, rng_.derive("init")))),
      workers_(threads, engine_factory(experiment.engine(), model_)) {}

RoundLoop Cell::loop(std::string_view label) {
  ServerContext server;
  server.model = model_;
  server.initial = initial_;
  server.fit = experiment_.training.fit;
  server.rng = rng_.derive("server");
  return RoundLoop({federation_, plan_of(experiment_, label), server, workers_, rng_, stop_, std::nullopt});
}

double phase_seconds(RoundLoop& loop) {
  StageSeconds& seconds = loop.totals().stages;
  return seconds[Stage::train] + seconds[Stage::profile] + seconds[Stage::map] + seconds[Stage::aggregate];
}

}  // namespace feroma::detail
