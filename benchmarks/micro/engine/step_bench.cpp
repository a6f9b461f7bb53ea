#include <benchmark/benchmark.h>

#include <vector>

#include "feroma/core/rng.h"
#include "feroma/engine/engine.h"
#include "feroma/models/cost.h"

namespace feroma {
namespace {

constexpr int kBatch = 64;

Batch make_batch(const ModelSpec& spec, BatchLayout layout) {
  Rng rng(1);
  Batch batch;
  batch.size = kBatch;
  batch.shape = spec.input;
  batch.layout = layout;
  for (std::size_t i = 0; i < layout.size(spec.input, kBatch); ++i) {
    batch.inputs.push_back(static_cast<float>(rng.uniform()));
  }
  for (int i = 0; i < kBatch; ++i) {
    batch.labels.push_back(i % spec.classes);
  }
  return batch;
}

void BM_Step(benchmark::State& state, EngineKind kind) {
  if (!engine_available(kind)) {
    state.SkipWithError("this build does not have the engine");
    return;
  }
  prepare_worker_thread(kind);
  const ModelSpec spec = lenet5({static_cast<int>(state.range(0)), 28, 28}, 10);
  const auto engine = make_engine(kind, spec);
  Parameters params = initialise(spec, Rng(1));
  const Batch batch = make_batch(spec, engine->layout());
  std::vector<float> gradient(params.size());
  for (auto _ : state) {
    benchmark::DoNotOptimize(engine->gradient(params, batch, gradient));
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
  state.counters["flops"] =
      benchmark::Counter(2.0 * step_products(spec) * kBatch, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK_CAPTURE(BM_Step, native, EngineKind::native)->ArgName("channels")->Arg(1)->Arg(3);
BENCHMARK_CAPTURE(BM_Step, torch, EngineKind::torch)->ArgName("channels")->Arg(1)->Arg(3);

void BM_Forward(benchmark::State& state, EngineKind kind) {
  if (!engine_available(kind)) {
    state.SkipWithError("this build does not have the engine");
    return;
  }
  prepare_worker_thread(kind);
  const ModelSpec spec = lenet5({static_cast<int>(state.range(0)), 28, 28}, 10);
  const auto engine = make_engine(kind, spec);
  const Parameters params = initialise(spec, Rng(1));
  const Batch batch = make_batch(spec, engine->layout());
  for (auto _ : state) {
    benchmark::DoNotOptimize(engine->forward(params, batch, Latent::flatten));
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK_CAPTURE(BM_Forward, native, EngineKind::native)->ArgName("channels")->Arg(1)->Arg(3);
BENCHMARK_CAPTURE(BM_Forward, torch, EngineKind::torch)->ArgName("channels")->Arg(1)->Arg(3);

}  // namespace
}  // namespace feroma
