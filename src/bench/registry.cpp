#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bench/measurements.h"
#include "feroma/core/error.h"

namespace feroma {

bool Target::met(double value) const {
  switch (side) {
    case Side::at_least: return value >= limit;
    case Side::at_most: return value <= limit;
    case Side::below: return value < limit;
  }
  unreachable();
}

void Readings::merge(Readings other) {
  values.merge(other.values);
  notes.merge(other.notes);
}

const std::vector<FigureEntry>& known_figures() {
  using enum Target::Side;
  using namespace detail;
  static const std::vector<FigureEntry> figures{
      {"fma_peak_gflops", "float32 multiply-add peak of one core, GFLOP/s", std::nullopt, measure_steps},
      {"native_peak_share", "native LeNet-5 training step over that peak", Target{at_least, 0.70}, measure_steps},
      {"native_over_torch", "native LeNet-5 training step over libtorch, one core", Target{at_least, 4}, measure_steps},
      {"resnet9_over_torch", "native ResNet-9 training step over libtorch, one core", Target{at_least, 0.5},
       measure_resnet},
      {"threads_2_over_1", "local training on two workers over one", Target{at_least, 1.9}, measure_threads},
      {"feroma_over_fedavg", "train + profile + map + aggregate, Feroma over FedAvg", Target{at_most, 1.03},
       measure_overhead},
      {"map_aggregate_share_k1000", "mapping and mixing 1000 clients over training them", Target{below, 0.02},
       measure_thousand},
      {"map_aggregate_memory_k1000", "memory of mapping and mixing over the 1000 models", Target{at_most, 1.2},
       measure_thousand},
      {"many_clients_spread", "one sampled client among 100, 10 000, 100 000: dearest over cheapest",
       Target{at_most, 1.2}, measure_many_clients},
      {"job_over_reference", "10 clients x 10 rounds, the reference's 123 s over ours", Target{at_least, 15},
       measure_job},
      {"job_seconds", "the same run, seconds", Target{below, 8}, measure_job},
  };
  return figures;
}

const FigureEntry& find_figure(std::string_view name) {
  std::vector<std::string_view> names;
  for (const FigureEntry& entry : known_figures()) {
    if (entry.name == name) {
      return entry;
    }
    names.push_back(entry.name);
  }
  fail(ErrorCode::invalid_config, "--only must be one of {}, got {}", fmt::join(names, ", "), name);
}

Readings measure_figures(const BenchOptions& options, std::optional<std::string_view> only) {
  std::vector<FigureEntry> wanted = known_figures();
  if (only) {
    wanted = {find_figure(*only)};
  }
  Readings all;
  std::set<Readings (*)(const BenchOptions&)> done;
  for (const FigureEntry& entry : wanted) {
    if (done.insert(entry.measure).second) {
      all.merge(entry.measure(options));
    }
  }
  // Figures that share a measurement with the one asked for are by-products; only its own raw values stay.
  for (const FigureEntry& entry : known_figures()) {
    if (only && entry.name != *only) {
      all.values.erase(std::string(entry.name));
      all.notes.erase(std::string(entry.name));
    }
  }
  return all;
}

}  // namespace feroma
