#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "feroma/algorithms/fedavg.h"
#include "feroma/core/files.h"
#include "feroma/core/log.h"
#include "feroma/runtime/run.h"
#include "tests/data/synthetic.h"
#include "tests/expect_error.h"
#include "tests/runtime/two_class_table.h"

namespace feroma {
namespace {

struct NowhereOptions {
  template <class Self, class Visit>
  static void fields(Self&, Visit&&) {}
};

/// FedAvg by another name that has no meaning anywhere.
class Nowhere final : public Algorithm {
 public:
  void init(const ServerContext&) override { fail(ErrorCode::unsupported, "[nowhere] has no meaning here"); }
  [[nodiscard]] Message downlink(Round, int, ClientId) const override { return {}; }
  [[nodiscard]] Message client_step(Round, int, ClientContext&, const Message&) const override { return {}; }
  void uplink(Round, int, std::map<ClientId, Message>&, StageSeconds&) override {}
  [[nodiscard]] std::vector<ServedModel> served() const override { return {}; }
  void save(ModelWriter&) const override {}
  void load(ModelReader&) override {}
};

class NotApplicable : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_algorithm({"nowhere", "test", "nobody", {}, plan_of<NowhereOptions>([](const NowhereOptions&) {
                          return std::make_unique<Nowhere>();
                        })});
  }
  NotApplicable() { test::write_two_class_table(scratch.path()); }
  [[nodiscard]] Experiment experiment(const std::vector<std::string>& algorithms) const {
    std::string text = fmt::format(
        "[scenario]\ndataset = '{}'\nshift = 'iid'\ndrift_mode = 'static'\nclients = 2\nrounds = 2\ndrifts = 1\n"
        "[training]\nmodel = 'mlp'\n",
        scratch.path().string());
    for (const std::string& algorithm : algorithms) {
      text += "[[algorithm]]\n" + algorithm + "\n";
    }
    return read_experiment(parse_settings(text, "my.toml"));
  }
  std::vector<ResultRecord> run(const std::vector<std::string>& algorithms, bool keep = false) const {
    RunOptions options;
    options.out = scratch.path() / "run";
    options.keep_not_applicable = keep;
    const std::atomic<bool> never = false;
    return run_experiment(experiment(algorithms), options, never);
  }

  test::ScratchFolder scratch;
};

TEST_F(NotApplicable, IsNoReasonToStopTheOthers) {
  const std::vector<ResultRecord> results = run({"name = 'nowhere'", "name = 'fedavg'"});
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].not_applicable, "[nowhere] has no meaning here");
  EXPECT_TRUE(std::isnan(results[0].accuracy));
  EXPECT_FALSE(results[1].not_applicable);
  EXPECT_TRUE(std::isfinite(results[1].accuracy));
  const auto json = nlohmann::json::parse(read_text(scratch.path() / "run" / "summary.json"))["results"];
  EXPECT_EQ(json[0]["label"], "nowhere");
  EXPECT_TRUE(json[0]["accuracy"].is_null());
  EXPECT_TRUE(json[0]["seconds_total"].is_null());
  EXPECT_EQ(json[0]["not_applicable"], "[nowhere] has no meaning here");
  EXPECT_TRUE(json[1]["not_applicable"].is_null());
  EXPECT_NE(read_text(scratch.path() / "run" / "report.html").find("N/A"), std::string::npos);
}

/// A method that is another one on these data says so when a run begins.
TEST_F(NotApplicable, IsNotWhatIsAnotherMethodHereButARunSaysSo) {
  std::string said;
  log::set_sink([&said](const log::Entry& entry) { said += std::string(entry.message) + "\n"; });
  static_cast<void>(run({"name = 'fedavg'", "name = 'feddrift'", "name = 'feddrift'\nlabel = 'one'\nvariant = 'C'"}));
  log::set_sink({});
  EXPECT_NE(said.find("feddrift: clients' data never change, so nothing drifts or merges: variant F is local training "
                      "here, a model for every client\n"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("one: clients' data never change, so nothing drifts: it is FedAvg here\n"), std::string::npos);
  EXPECT_EQ(said.find("fedavg: "), std::string::npos);
}

TEST_F(NotApplicable, IsTheErrorOfARunWithNothingElse) {
  expect_error(ErrorCode::unsupported, "[nowhere] has no meaning here",
               [&] { return run({"name = 'nowhere'"}).size(); });
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "run"));
}

TEST_F(NotApplicable, IsTheResultOfARunThatKeepsIt) {
  const std::vector<ResultRecord> results = run({"name = 'nowhere'"}, /*keep=*/true);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].not_applicable, "[nowhere] has no meaning here");
  const std::filesystem::path folder = scratch.path() / "run";
  const auto json = nlohmann::json::parse(read_text(folder / "summary.json"))["results"];
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["not_applicable"], "[nowhere] has no meaning here");
  EXPECT_TRUE(json[0]["accuracy"].is_null());
  ASSERT_TRUE(run_times(folder));
  EXPECT_TRUE(run_times(folder)->ended);
  EXPECT_NE(read_text(folder / "report.html").find("N/A"), std::string::npos);
}

TEST_F(NotApplicable, IsTheErrorOfAnEstimateWithNothingElse) {
  expect_error(ErrorCode::unsupported, "no algorithm of this run is applicable: [nowhere] has no meaning here",
               [&] { return estimate_run(experiment({"name = 'nowhere'"}), 1).seconds; });
}

TEST_F(NotApplicable, CostsNothingInAnEstimate) {
  const RunEstimate estimate = estimate_run(experiment({"name = 'nowhere'", "name = 'fedavg'"}), 1);
  EXPECT_EQ(estimate.extra_rounds, 0);
  EXPECT_GT(estimate.seconds, 0);
}

TEST_F(NotApplicable, ExtraRoundsArePartOfAnEstimate) {
  EXPECT_EQ(estimate_run(experiment({"name = 'atp'\nrate_rounds = 7", "name = 'fedavg'"}), 1).extra_rounds, 7);
  // The same steps take much longer in all; timing is noisy, a hundred times the rounds is not.
  const double plain = estimate_run(experiment({"name = 'atp'\nrate_rounds = 0"}), 1).seconds;
  EXPECT_GT(estimate_run(experiment({"name = 'atp'\nrate_rounds = 200"}), 1).seconds, 10 * plain);
}

}  // namespace
}  // namespace feroma
