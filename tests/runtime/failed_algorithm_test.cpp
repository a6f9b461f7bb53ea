// An algorithm that ends before its last round: a row that says so, and the next is played.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "feroma/algorithms/fedavg.h"
#include "feroma/core/files.h"
#include "feroma/report/console.h"
#include "feroma/runtime/run.h"
#include "tests/data/synthetic.h"
#include "tests/expect_error.h"
#include "tests/runtime/two_class_table.h"

namespace feroma {
namespace {

struct DoomedOptions {
  template <class Self, class Visit>
  static void fields(Self&, Visit&&) {}
};

/// Trains like nobody, and cannot go on after its first round.
class Doomed final : public Algorithm {
 public:
  void init(const ServerContext& context) override { model_ = context.initial; }
  [[nodiscard]] Message downlink(Round, int, ClientId) const override { return {}; }
  [[nodiscard]] Message client_step(Round, int, ClientContext&, const Message&) const override { return {}; }
  void uplink(Round round, int, std::map<ClientId, Message>&, StageSeconds&) override {
    require(round < 2, ErrorCode::invalid_data, "[doomed] the loss must stay finite, got inf");
  }
  [[nodiscard]] std::vector<ServedModel> served() const override { return {{std::nullopt, 0, model_, {}, 0}}; }
  void save(ModelWriter&) const override {}
  void load(ModelReader&) override {}

 private:
  ParametersPtr model_;
};

class FailedAlgorithm : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_algorithm({"doomed", "test", "nobody", {}, plan_of<DoomedOptions>([](const DoomedOptions&) {
                          return std::make_unique<Doomed>();
                        })});
  }
  FailedAlgorithm() { test::write_two_class_table(scratch.path()); }
  std::vector<ResultRecord> run(bool keep, Existing existing = Existing::refuse) const {
    const std::string text = fmt::format(
        "[scenario]\ndataset = '{}'\nshift = 'iid'\ndrift_mode = 'static'\nclients = 2\nrounds = 3\ndrifts = 1\n"
        "[training]\nmodel = 'mlp'\n[[algorithm]]\nname = 'doomed'\n[[algorithm]]\nname = 'fedavg'\n",
        scratch.path().string());
    RunOptions options;
    options.out = scratch.path() / "run";
    options.existing = existing;
    options.keep_failed = keep;
    const std::atomic<bool> never = false;
    return run_experiment(read_experiment(parse_settings(text, "my.toml")), options, never);
  }

  test::ScratchFolder scratch;
};

constexpr const char* kWhy = "after 1 of 3 rounds: [doomed] the loss must stay finite, got inf";

TEST_F(FailedAlgorithm, IsARowThatSaysSoAndTheNextIsPlayed) {
  const std::vector<ResultRecord> results = run(/*keep=*/true);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].failed, kWhy);
  EXPECT_TRUE(std::isnan(results[0].accuracy));
  EXPECT_FALSE(results[1].failed);
  EXPECT_TRUE(std::isfinite(results[1].accuracy));
  EXPECT_NE(results_table(results).find("failed"), std::string::npos);
  const auto json = nlohmann::json::parse(read_text(scratch.path() / "run" / "summary.json"))["results"];
  EXPECT_EQ(json[0]["failed"], kWhy);
  EXPECT_TRUE(json[0]["accuracy"].is_null());
  EXPECT_TRUE(json[1]["failed"].is_null());
  const std::string page = read_text(scratch.path() / "run" / "report.html");
  EXPECT_NE(page.find(">failed<"), std::string::npos);
  EXPECT_NE(page.find(kWhy), std::string::npos);
}

// A cell of a sweep has one algorithm: it failed, and is tried again.
TEST_F(FailedAlgorithm, IsTheErrorOfARunThatKeepsNone) {
  expect_error(ErrorCode::invalid_data, "[doomed] the loss must stay finite", [&] { return run(false).size(); });
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "run" / "summary.json"));
  const std::vector<ResultRecord> results = run(/*keep=*/true, Existing::resume);
  EXPECT_EQ(results[0].failed, kWhy) << "a run that is resumed fails where it failed";
  EXPECT_TRUE(std::isfinite(results[1].accuracy));
}

}  // namespace
}  // namespace feroma
