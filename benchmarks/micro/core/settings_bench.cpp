#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <string>

#include "feroma/core/settings.h"

namespace feroma {
namespace {

/// A config with many algorithms, as a sweep expands it.
std::string config_text(std::int64_t algorithms) {
  std::string text = "[scenario]\ndataset = \"fmnist\"\nclients = 20\nparticipation = 1.0\n";
  for (std::int64_t i = 0; i < algorithms; ++i) {
    text += fmt::format("\n[[algorithm]]\nname = \"fedprox\"\nmu = 0.{}\n", i);
  }
  return text;
}

void BM_ParseSettings(benchmark::State& state) {
  const std::string text = config_text(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(parse_settings(text, "bench.toml"));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(BM_ParseSettings)->ArgName("algorithms")->Arg(2)->Arg(50);

}  // namespace
}  // namespace feroma
