#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "bench/cell.h"
#include "bench/measurements.h"
#include "bench/memory_meter.h"
#include "bench/workload.h"

namespace feroma::detail {
namespace {

const char* const kSpread = "many_clients_spread";
constexpr double kSampled = 50;  // per round
constexpr double kMegabyte = 1e6;

/// A federation of one size; the cell borrows the experiment.
class SizedFederation {
 public:
  SizedFederation(const std::string& dataset, int clients, int rounds, int threads)
      : clients_(clients),
        experiment_(experiment_of(
            many_clients_config(),
            {fmt::format("scenario.dataset={}", dataset), fmt::format("scenario.clients={}", clients),
             fmt::format("scenario.participation={}", kSampled / clients), fmt::format("scenario.rounds={}", rounds)})),
        cell_(experiment_, threads) {}
  SizedFederation(const SizedFederation&) = delete;
  SizedFederation& operator=(const SizedFederation&) = delete;

  /// Plays all rounds of Feroma: what one sampled client cost, its data included.
  [[nodiscard]] double seconds_per_client() {
    RoundLoop loop = cell_.loop("feroma-auto");
    const int rounds = experiment_.scenario.rounds;
    for (int round = 0; round < rounds; ++round) {
      static_cast<void>(loop.play_round());
    }
    return (phase_seconds(loop) + loop.totals().stages[Stage::data]) / (rounds * kSampled);
  }
  [[nodiscard]] int clients() const { return clients_; }

 private:
  int clients_;
  Experiment experiment_;
  Cell cell_;
};

}  // namespace

Readings measure_many_clients(const BenchOptions& options) {
  Readings readings;
  const std::string dataset = available_dataset();
  note_dataset(readings, dataset, {kSpread});
  if (dataset.empty()) {
    return readings;
  }
  const int rounds = options.quick ? 3 : 6;
  const int repeats = options.quick ? 1 : 5;
  std::vector<std::unique_ptr<SizedFederation>> sizes;
  for (const int clients : {100, 10'000, 100'000}) {
    const MemoryMeter meter;
    sizes.push_back(std::make_unique<SizedFederation>(dataset, clients, rounds, options.threads));
    static_cast<void>(sizes.back()->seconds_per_client());  // what the rounds keep counts as memory
    if (const auto growth = meter.peak_growth_bytes()) {
      readings.values[fmt::format("clients_{}_memory_mb", clients)] = quartiles_of(std::array{*growth / kMegabyte});
    }
  }
  std::vector<double> spreads;
  std::map<int, std::vector<double>> milliseconds;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    say(options, fmt::format("50 sampled of 100, 10 000 and 100 000 clients on {}, in turns: {} of {}", dataset,
                             repeat + 1, repeats));
    double least = 0;
    double most = 0;
    for (const auto& size : sizes) {
      const double seconds = size->seconds_per_client();
      milliseconds[size->clients()].push_back(1e3 * seconds);
      least = least == 0 ? seconds : std::min(least, seconds);
      most = std::max(most, seconds);
    }
    spreads.push_back(most / least);
  }
  readings.values[kSpread] = quartiles_of(spreads);
  for (const auto& [clients, values] : milliseconds) {
    readings.values[fmt::format("clients_{}_each_ms", clients)] = quartiles_of(values);
  }
  return readings;
}

}  // namespace feroma::detail
