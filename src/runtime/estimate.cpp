#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

#include "feroma/runtime/fitted_run.h"
#include "feroma/runtime/run.h"
#include "feroma/runtime/test_plan.h"
#include "feroma/runtime/workers.h"

namespace feroma {
namespace {

using Clock = std::chrono::steady_clock;

/// For so long steps are tried out: the machine's other work may take several times a step.
constexpr double kTrialSeconds = 0.1;

/// Seconds of one SGD step on one worker: the fastest of some, after one that warms up.
double seconds_per_step(const Experiment& experiment, const ModelSpec& model, const View& view) {
  Workers worker(1, engine_factory(experiment.engine(), model));
  const std::atomic<bool> stop = false;
  double best = 0;
  worker.run(
      1,
      [&](std::size_t, Trainer& trainer) {
        Parameters params = initialise(model, Rng(1));
        View few = view;
        FitOptions fit = experiment.training.fit;
        fit.local_epochs = 1;
        few.items.resize(std::min(few.items.size(), static_cast<std::size_t>(fit.batch_size)));
        double tried = 0;
        for (int i = 0; i < 5 || tried < kTrialSeconds; ++i) {
          const auto start = Clock::now();
          trainer.fit_in_order(params, few, fit);
          const double took = std::chrono::duration<double>(Clock::now() - start).count();
          best = i <= 1 ? took : std::min(best, took);
          tried += took;
        }
      },
      stop);
  return best;
}

/// What the time of a step depends on.
std::string step_kind(const Experiment& experiment, const ModelSpec& model, const View& view) {
  const SampleShape& input = model.input;
  const std::size_t batch = std::min(view.items.size(), static_cast<std::size_t>(experiment.training.fit.batch_size));
  return fmt::format("{} {} {} {}x{}x{} {} {} {}", static_cast<int>(experiment.engine()), name_of(experiment.simd()),
                     model.name, input.channels, input.height, input.width, model.classes, make_layout(model)->size,
                     batch);
}

double known_seconds_per_step(const Experiment& experiment, const ModelSpec& model, const View& view,
                              StepTimes& known) {
  const auto [found, is_new] = known.try_emplace(step_kind(experiment, model, view));
  if (is_new) {
    found->second = seconds_per_step(experiment, model, view);
  }
  return found->second;
}

/// How many clients train in each round.
std::vector<std::int64_t> clients_per_round(const Experiment& experiment) {
  const ScenarioOptions& scenario = experiment.scenario;
  const Rng rng(static_cast<std::uint64_t>(scenario.seed));
  const Membership membership(experiment.membership, scenario.clients, scenario.rounds, rng.derive("scenario"));
  std::vector<std::int64_t> active;
  for (Round round = 1; round <= scenario.rounds; ++round) {
    const auto present = static_cast<double>(membership.present(round).size());
    active.push_back(std::max<std::int64_t>(1, std::llround(scenario.participation * present)));
  }
  return active;
}

/// What a client trains on in a round, in the mean over clients: they may have unequal amounts.
struct MeanShare {
  double samples = 0;
  double batches = 0;
};
constexpr int kMostCounted = 200;

MeanShare mean_share(const Federation& federation, int clients, int batch_size) {
  const int counted = std::min(clients, kMostCounted);
  MeanShare mean;
  for (int client = 0; client < counted; ++client) {
    const auto samples = static_cast<double>(federation.shard(static_cast<ClientId>(client), 1).train.size());
    mean.samples += samples / counted;
    mean.batches += std::ceil(samples / batch_size) / counted;
  }
  return mean;
}

}  // namespace

RunEstimate estimate_run(const Experiment& given, int threads, SharedDatasets* datasets, StepTimes* known) {
  use_simd(given.simd());
  const FittedRun fitted = fit_to_data(given, datasets);
  const Experiment& experiment = fitted.experiment;
  const ScenarioOptions& scenario = experiment.scenario;
  const Federation& federation = *fitted.federation;
  const ModelSpec model = experiment.model(federation.shape(), federation.classes());
  const std::vector<AlgorithmCheck> checks = check_algorithms(experiment, model, federation.multi_label());
  const ClientShard shard = federation.shard(ClientId{0}, 1);

  RunEstimate estimate;
  estimate.adapted = experiment.all_adapted();
  estimate.clients = scenario.clients;
  estimate.rounds = scenario.rounds;
  estimate.distributions = federation.schedule().bank.size();
  estimate.realised_changes = federation.schedule().realised_changes();
  const MeanShare mean = mean_share(federation, scenario.clients, experiment.training.fit.batch_size);
  estimate.samples_per_client_round = std::llround(mean.samples);
  const std::vector<std::int64_t> active = clients_per_round(experiment);
  const double client_steps = mean.batches * experiment.training.fit.local_epochs;
  const auto steps_of = [client_steps](std::int64_t rounds) {
    return std::llround(client_steps * static_cast<double>(rounds));
  };
  estimate.steps = steps_of(std::accumulate(active.begin(), active.end(), std::int64_t{0}));
  std::int64_t all_steps = 0;
  for (const AlgorithmCheck& check : checks) {
    estimate.extra_rounds += check.extra_rounds;
    all_steps += check.not_applicable ? 0 : estimate.steps + steps_of(check.extra_rounds * active.back());
  }
  estimate.parameters = static_cast<std::int64_t>(make_layout(model)->size);
  const auto model_bytes = estimate.parameters * static_cast<std::int64_t>(sizeof(float));
  const Dataset& dataset = federation.dataset();
  const auto data_bytes = static_cast<std::int64_t>(dataset.train.input_bytes() + dataset.test.input_bytes());
  // Last round's models, this round's mixtures and uploads, and the best round's copy.
  estimate.memory_bytes = data_bytes + 4 * *std::max_element(active.begin(), active.end()) * model_bytes;
  const TestPlan tests = plan_tests(experiment, federation, model, checks);
  estimate.test_every = tests.every;
  estimate.test_share = tests.share;
  StepTimes own;
  const double step = known_seconds_per_step(experiment, model, shard.train, known == nullptr ? own : *known);
  estimate.seconds = step * static_cast<double>(all_steps) / static_cast<double>(threads);
  return estimate;
}

}  // namespace feroma
