// A whole run ends at the same accuracy on either engine.
#include <gtest/gtest.h>

#include <atomic>

#include "feroma/data/catalog.h"
#include "feroma/engine/engine.h"
#include "feroma/runtime/run.h"
#include "tests/core/temp_folder.h"

namespace feroma {
namespace {

// Large enough to settle: in shorter runs, or on fewer test samples, chance alone is worth a point.
constexpr const char* kConfig = R"(
[scenario]
dataset = "mnist"
shift = "covariate"
level = "low"
generator = "feroma"
drifts = 10
clients = 10
rounds = 20
[training]
local_epochs = 2
[[algorithm]]
name = "feroma"
)";

std::vector<ResultRecord> results_on(const std::string& engine) {
  const test::TempFolder folder;
  Settings settings = parse_settings(kConfig, "test");
  apply_override(settings, "training.engine=" + engine);
  const Experiment experiment = read_experiment(settings);
  RunOptions options;
  options.out = folder.path() / "run";
  options.threads = 2;
  const std::atomic<bool> stop = false;
  return run_experiment(experiment, options, stop);
}

// Rounding differs from the first step on, and twenty rounds of SGD magnify it: the models differ, their worth does
// not.
TEST(EnginesSlow, EndWithinHalfAPointAfterTwentyRounds) {
  if (!engine_available(EngineKind::torch) || locate_dataset(find_dataset("mnist"), {}).empty()) {
    GTEST_SKIP() << "libtorch or MNIST is missing: whole runs on the two engines are NOT compared";
  }
  const std::vector<ResultRecord> native = results_on("native");
  const std::vector<ResultRecord> torch = results_on("torch");
  ASSERT_EQ(native.size(), torch.size());
  for (std::size_t i = 0; i < native.size(); ++i) {
    EXPECT_GT(native[i].accuracy, 85) << native[i].label;
    EXPECT_NEAR(native[i].accuracy, torch[i].accuracy, 0.5) << native[i].label;
  }
}

}  // namespace
}  // namespace feroma
