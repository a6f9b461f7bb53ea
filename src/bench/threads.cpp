#include <atomic>
#include <thread>

#include "bench/fma_peak.h"
#include "bench/measurements.h"
#include "bench/workload.h"
#include "feroma/runtime/workers.h"

namespace feroma::detail {
namespace {

constexpr std::size_t kRoundClients = 20;  // a round of the paper

/// Multiply-adds in registers need no memory and no lock: what two threads gain on them is all that the machine has to
/// give at that moment. On a shared host that is less than two while a neighbour sits on the second core.
constexpr std::int64_t kFmaRounds = 4'000'000;  // about a tenth of a second

double seconds_of_fma(int threads) {
  return seconds_of([&] {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) {
      others.emplace_back([] { static_cast<void>(run_fma_loop(kFmaRounds)); });
    }
    static_cast<void>(run_fma_loop(kFmaRounds));
  });
}

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
        kRoundClients,
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
  std::vector<double> machine_ratios;
  std::vector<double> one_seconds;
  std::vector<double> two_seconds;
  for (int repeat = 0; repeat < (options.quick ? 3 : 11); ++repeat) {
    one_seconds.push_back(seconds_of([&] { train_all(one); }));
    two_seconds.push_back(seconds_of([&] { train_all(two); }));
    ratios.push_back(one_seconds.back() / two_seconds.back());
    machine_ratios.push_back(2 * seconds_of_fma(1) / seconds_of_fma(2));
  }
  readings.values["threads_2_over_1"] = quartiles_of(ratios);
  readings.values["fma_2_threads_over_1"] = quartiles_of(machine_ratios);
  readings.values["train_20_clients_1_worker_s"] = quartiles_of(one_seconds);
  readings.values["train_20_clients_2_workers_s"] = quartiles_of(two_seconds);
  return readings;
}

}  // namespace feroma::detail
