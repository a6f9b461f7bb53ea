#include <algorithm>
#include <memory>

#include "bench/fma_peak.h"
#include "bench/measurements.h"
#include "bench/workload.h"
#include "feroma/client/trainer.h"
#include "feroma/core/error.h"
#include "feroma/engine/engine.h"
#include "feroma/models/cost.h"

namespace feroma::detail {
namespace {

constexpr int kBatch = 64;
constexpr std::int64_t kPeakRounds = 200'000;

/// One model on one engine: gradient and momentum update on a batch that is already assembled.
class StepBench {
 public:
  StepBench(EngineKind kind, const ModelSpec& spec)
      : engine_(make_engine(kind, spec)),
        params_(initialise(spec, Rng(1))),
        gradient_(params_.size()),
        velocity_(params_.size()),
        batch_(noise_batch(spec, kBatch, engine_->layout())) {
    step();  // buffers are made and code is loaded before anything is timed
  }

  void step() {
    static_cast<void>(engine_->gradient(params_, batch_, gradient_));
    sgd_step(params_.values(), velocity_, gradient_, /*learning_rate=*/1e-4, /*momentum=*/0.9);
  }

 private:
  std::unique_ptr<Engine> engine_;
  Parameters params_;
  std::vector<float> gradient_;
  std::vector<float> velocity_;
  Batch batch_;
};

/// Operations per second of one core's multiply-adds.
double fma_flops(double budget) {
  double products = 0;
  const double seconds = thread_seconds_per_call(budget, [&] { products = run_fma_loop(kPeakRounds); });
  return 2 * products / seconds;
}

/// Why libtorch cannot be measured here; empty where it can.
std::string why_no_torch() {
  if (!engine_available(EngineKind::torch)) {
    return "this build has no libtorch";
  }
  try {
    require_engine(EngineKind::torch);
  } catch (const Error& error) {  // the other figures do not need it
    return error.what();
  }
  return {};
}

std::unique_ptr<StepBench> torch_bench(const ModelSpec& spec) {
  prepare_worker_thread(EngineKind::torch);
  return std::make_unique<StepBench>(EngineKind::torch, spec);
}

}  // namespace

Readings measure_steps(const BenchOptions& options) {
  say(options, "LeNet-5 training step: FMA peak, native and libtorch in turns on one core");
  const ModelSpec spec = lenet5({3, 28, 28}, 10);
  const double flops = 2 * step_products(spec) * kBatch;
  const double budget = options.quick ? 0.01 : 0.1;
  StepBench native(EngineKind::native, spec);
  const std::string no_torch = why_no_torch();
  const std::unique_ptr<StepBench> torch = no_torch.empty() ? torch_bench(spec) : nullptr;
  std::vector<double> peaks;
  std::vector<double> shares;
  std::vector<double> ratios;
  std::vector<double> native_ms;
  std::vector<double> torch_ms;
  for (int repeat = 0; repeat < (options.quick ? 3 : 11); ++repeat) {
    const double peak = fma_flops(budget);
    const double step = thread_seconds_per_call(budget, [&] { native.step(); });
    peaks.push_back(peak / 1e9);
    shares.push_back(flops / step / peak);
    native_ms.push_back(1e3 * step);
    if (torch) {
      const double slow = thread_seconds_per_call(budget, [&] { torch->step(); });
      ratios.push_back(slow / step);
      torch_ms.push_back(1e3 * slow);
    }
  }
  Readings readings;
  readings.values["fma_peak_gflops"] = quartiles_of(peaks);
  readings.values["native_peak_share"] = quartiles_of(shares);
  readings.values["native_step_ms"] = quartiles_of(native_ms);
  if (torch) {
    readings.values["native_over_torch"] = quartiles_of(ratios);
    readings.values["torch_step_ms"] = quartiles_of(torch_ms);
  } else {
    readings.notes["native_over_torch"] = no_torch;
  }
  return readings;
}

Readings measure_resnet(const BenchOptions& options) {
  Readings readings;
  if (const std::string no_torch = why_no_torch(); !no_torch.empty()) {
    readings.notes["resnet9_over_torch"] = no_torch;
    return readings;
  }
  say(options, "ResNet-9 training step: native and libtorch in turns on one core");
  const ModelSpec spec = resnet9({3, 32, 32}, 10);
  StepBench native(EngineKind::native, spec);
  const std::unique_ptr<StepBench> torch = torch_bench(spec);
  std::vector<double> ratios;
  std::vector<double> native_ms;
  std::vector<double> torch_ms;
  for (int repeat = 0; repeat < (options.quick ? 1 : 5); ++repeat) {
    native_ms.push_back(1e3 * thread_seconds_of([&] { native.step(); }));
    torch_ms.push_back(1e3 * thread_seconds_of([&] { torch->step(); }));
    ratios.push_back(torch_ms.back() / native_ms.back());
  }
  readings.values["resnet9_over_torch"] = quartiles_of(ratios);
  readings.values["resnet9_native_step_ms"] = quartiles_of(native_ms);
  readings.values["resnet9_torch_step_ms"] = quartiles_of(torch_ms);
  return readings;
}

}  // namespace feroma::detail
