#include <atomic>
#include <thread>

#include "bench/measurements.h"
#include "bench/workload.h"
#include "feroma/runtime/workers.h"

namespace feroma::detail {
namespace {

constexpr std::size_t kClients = 20;  // a round of the paper

}  // namespace

Readings measure_threads(const BenchOptions& options) {
  Readings readings;
  if (std::thread::hardware_concurrency() < 2) {
    readings.notes["threads_2_over_1"] = "this machine has one core";
    return readings;
  }
  say(options, "local training of 20 clients: one worker and two in turns");
  const ModelSpec spec = lenet5({3, 28, 28}, 10);
  const NoiseClient client(options.quick ? 128 : 1600);
  FitOptions fit;
  fit.local_epochs = 1;
  const std::atomic<bool> stop = false;
  const auto train_all = [&](Workers& workers) {
    workers.run(
        kClients,
        [&](std::size_t i, Trainer& trainer) {
          Parameters params = initialise(spec, Rng(i));
          static_cast<void>(trainer.fit(params, client.view(), fit, Rng(i)));
        },
        stop);
  };
  Workers one(1, engine_factory(EngineKind::native, spec));
  Workers two(2, engine_factory(EngineKind::native, spec));
  train_all(one);
  train_all(two);
  std::vector<double> ratios;
  std::vector<double> one_seconds;
  std::vector<double> two_seconds;
  for (int repeat = 0; repeat < (options.quick ? 3 : 11); ++repeat) {
    one_seconds.push_back(seconds_of([&] { train_all(one); }));
    two_seconds.push_back(seconds_of([&] { train_all(two); }));
    ratios.push_back(one_seconds.back() / two_seconds.back());
  }
  readings.values["threads_2_over_1"] = quartiles_of(ratios);
  readings.values["train_20_clients_1_worker_s"] = quartiles_of(one_seconds);
  readings.values["train_20_clients_2_workers_s"] = quartiles_of(two_seconds);
  return readings;
}

}  // namespace feroma::detail
