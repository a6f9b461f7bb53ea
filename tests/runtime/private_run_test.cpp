// Whole runs with private profiles on real data.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

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
  std::string header;
  std::getline(metrics, header);
  std::string last;
  for (std::string line; std::getline(metrics, line);) {
    last = line;
  }
  std::istringstream names(header);
  std::istringstream values(last);
  std::map<std::string, std::string> row;
  for (std::string name; std::getline(names, name, ',');) {
    std::getline(values, row[name], ',');
  }
  EXPECT_NEAR(std::stod(row.at("epsilon")), epsilon, 1e-9);
}

/// A short run that is stopped and resumed.
class InterruptedPrivateRun : public ::testing::Test {
 protected:
  void SetUp() override {
    if (locate_dataset(find_dataset("fmnist"), {}).empty()) {
      GTEST_SKIP() << "Fashion-MNIST is missing (Debian: dataset-fashion-mnist): lost ledgers of a run are NOT tested";
    }
  }

  /// Plays on to the end of a round; what is wrong, or nothing.
  std::string play(Round until, const std::string& ledger = "", const std::string& out = "run") {
    Settings settings = parse_settings(R"(
[scenario]
dataset = "fmnist"
clients = 2
rounds = 3
drifts = 3
samples_per_client = 40
[training]
model = "mlp"
local_epochs = 1
[[algorithm]]
name = "feroma"
warmup_rounds = 1
[privacy]
mode = "gaussian"
max_releases = 4
)",
                                       "test");
    if (!ledger.empty()) {
      apply_override(settings, "privacy.ledger=" + (folder / ledger).string());
    }
    std::atomic<bool> stop = false;
    RunOptions options;
    options.out = folder / out;
    options.existing = std::filesystem::exists(options.out) ? Existing::resume : Existing::refuse;
    options.observer.round_finished = [&](const RoundRecord& record, int) { stop = record.round == until; };
    try {
      static_cast<void>(run_experiment(read_experiment(settings), options, stop));
    } catch (const Error& error) {
      return error.code() == ErrorCode::interrupted ? "" : error.what();
    }
    return "";
  }

  feroma::test::TempFolder folder;
};

TEST_F(InterruptedPrivateRun, ResumesWithItsLedgersAlone) {
  EXPECT_EQ(play(2), "");
  const std::filesystem::path ledgers = folder / "run" / "ledgers";
  std::filesystem::copy(ledgers, folder / "kept", std::filesystem::copy_options::recursive);
  std::filesystem::remove_all(ledgers);
  const std::string lost = play(0);
  EXPECT_NE(lost.find("run.ckpt knows of"), std::string::npos) << lost;
  EXPECT_NE(lost.find("feroma privacy vouch"), std::string::npos) << lost;
  std::filesystem::remove_all(ledgers);
  std::filesystem::copy(folder / "kept", ledgers, std::filesystem::copy_options::recursive);
  EXPECT_EQ(play(0), "");
}

TEST_F(InterruptedPrivateRun, LedgersThatRunsShareAreMissedByTheNextRun) {
  EXPECT_EQ(play(0, "shared"), "");
  EXPECT_TRUE(std::filesystem::is_regular_file(folder / "shared-releases" / "feroma-auto" / "client-0"));
  EXPECT_EQ(play(0, "shared", "another"), "") << "the same run again tells the same";
  std::filesystem::remove_all(folder / "shared");
  const std::string lost = play(0, "shared", "third");
  EXPECT_NE(lost.find("The ledger was lost"), std::string::npos) << lost;
}

}  // namespace
}  // namespace feroma
