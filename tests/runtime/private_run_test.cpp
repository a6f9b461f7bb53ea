// Whole runs with private profiles on real data.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "feroma/data/catalog.h"
#include "feroma/privacy/ledger.h"
#include "feroma/runtime/run.h"
#include "tests/core/temp_folder.h"

namespace feroma {
namespace {

// Four angles, five clients each.
constexpr const char* kFourAngles = R"(
[scenario]
dataset = "mnist"
shift = "covariate"
rotations = 4
colours = 1
drift_mode = "static"
strict = true
drifts = 1
clients = 20
samples_per_client = 1000
)";

class PrivateRunSlow : public ::testing::Test {
 protected:
  void SetUp() override {
    if (locate_dataset(find_dataset("mnist"), {}).empty()) {
      GTEST_SKIP() << "MNIST is missing: what private profiles are worth is NOT tested";
    }
    // An encoder that has learned something, the same for all.
    static_cast<void>(run("encoder", "[[algorithm]]\nname = 'fedavg'", {"scenario.rounds=12"}));
  }

  ResultRecord run(const std::string& name, const std::string& tables, const std::vector<std::string>& overrides) {
    Settings settings = parse_settings(kFourAngles + tables, "test");
    for (const std::string& override : overrides) {
      apply_override(settings, override);
    }
    RunOptions options;
    options.out = folder.path() / name;
    options.existing = Existing::overwrite;
    options.threads = 2;
    const std::atomic<bool> stop = false;
    return run_experiment(read_experiment(settings), options, stop).front();
  }

  /// How many test clients are given a model of their own angle.
  double match(int records, int releases, std::vector<std::string> overrides = {}) {
    const std::string encoder = (folder.path() / "encoder/models/fedavg.safetensors").string();
    for (const std::string& more :
         {std::string("scenario.rounds=3"), "scenario.samples_per_client=" + std::to_string(records),
          "privacy.max_releases=" + std::to_string(releases), "algorithm.0.profile.encoder=" + encoder}) {
      overrides.push_back(more);
    }
    const char* tables = "[[algorithm]]\nname = 'feroma'\nwarmup_rounds = 1\n[privacy]\nmode = 'gaussian'";
    return run("run", tables, overrides).match_rate.value();
  }

  test::TempFolder folder;
};

TEST_F(PrivateRunSlow, ClientsFindTheirGroupUnderABudget) {
  EXPECT_GE(match(1000, 20), 0.95);
  EXPECT_GE(match(300, 5), 0.90);
}

TEST_F(PrivateRunSlow, WithNextToNoBudgetTheyDoNot) { EXPECT_LT(match(300, 20, {"privacy.epsilon_total=0.05"}), 0.7); }

TEST_F(PrivateRunSlow, BoundsFromHistogramsServeToo) { EXPECT_GE(match(1000, 20, {"privacy.bounds=histogram"}), 0.9); }

TEST_F(PrivateRunSlow, PureReleasesServeWhereThereAreFew) { EXPECT_GE(match(1000, 2, {"privacy.mode=pure"}), 0.9); }

TEST_F(PrivateRunSlow, TellsInItsFilesWhatWasSpent) {
  static_cast<void>(match(300, 5));
  std::ifstream file(folder.path() / "run" / "summary.json");
  const auto result = nlohmann::json::parse(file)["results"][0];
  const double epsilon = result["epsilon"].get<double>();
  EXPECT_GT(epsilon, 0);
  EXPECT_LT(epsilon, 5);
  EXPECT_TRUE(result["dp_guarantee"].get<std::string>().starts_with("(5, 1e-05)-differential privacy"));
  const std::vector<LedgerLine> lines = audit_ledger(folder.path() / "run" / "ledgers" / "feroma-auto" / "client-7");
  ASSERT_EQ(lines.size(), 2U) << "once more when bounds moved";
  EXPECT_NEAR(spent_by(lines, {}).epsilon, epsilon, 1e-9);
  std::ifstream metrics(folder.path() / "run" / "metrics.csv");
  std::string line;
  std::string last;
  while (std::getline(metrics, line)) {
    last = line;
  }
  EXPECT_NEAR(std::stod(last.substr(last.rfind(',') + 1)), epsilon, 1e-9);
}

}  // namespace
}  // namespace feroma
