#include <benchmark/benchmark.h>

#include <numeric>

#include "feroma/core/rng.h"
#include "feroma/data/view.h"

namespace feroma {
namespace {

constexpr std::size_t kStored = 20000;  // more than the caches hold, as a dataset is
constexpr std::uint32_t kBatch = 64;

Samples random_pictures() {
  Rng rng(1);
  Samples samples;
  samples.shape = {1, 28, 28};
  for (std::size_t i = 0; i < kStored; ++i) {
    samples.labels.push_back(static_cast<std::int32_t>(i % 10));
    for (int p = 0; p < samples.shape.size(); ++p) {
      samples.pixels.push_back(static_cast<std::uint8_t>(rng.below(256)));
    }
  }
  return samples;
}

/// 64 pictures, turned by `turns` quarters and tinted, into an engine's layout.
void BM_Assemble(benchmark::State& state, BatchLayout layout) {
  const Samples samples = random_pictures();
  Recipe recipe{std::vector<Transform>(10, Transform{static_cast<int>(state.range(0)), 1}),
                std::vector<std::int32_t>(10)};
  std::iota(recipe.label_of_class.begin(), recipe.label_of_class.end(), 0);
  View view{&samples, std::span(&recipe, 1), {3, 28, 28}, {}};
  for (std::uint32_t i = 0; i < kStored; ++i) {
    view.items.push_back({i, 0});
  }
  const std::vector<std::uint32_t> order = Rng(2).sample(kStored, kStored);
  Batch batch;
  std::size_t first = 0;
  for (auto _ : state) {
    assemble_(batch, view, std::span(order).subspan(first, kBatch), layout);
    first = (first + kBatch) % (kStored - kBatch);
    benchmark::DoNotOptimize(batch.inputs.data());
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK_CAPTURE(BM_Assemble, sample_innermost, BatchLayout::sample_innermost)->ArgName("turns")->Arg(0)->Arg(1);
BENCHMARK_CAPTURE(BM_Assemble, sample_major, BatchLayout::sample_major)->ArgName("turns")->Arg(0)->Arg(1);

}  // namespace
}  // namespace feroma
