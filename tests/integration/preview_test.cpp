#include <fmt/core.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "feroma/data/catalog.h"
#include "tests/integration/cli_support.h"
#include "tests/places.h"

namespace feroma {
namespace {

using namespace test;

const std::string kDemo = source_file("configs/demo.toml").string();

class CliPreview : public CliFiles {
 protected:
  void SetUp() override {
    if (locate_dataset(find_dataset("fmnist"), {}).empty()) {
      GTEST_SKIP() << "Fashion-MNIST is not installed: its preview is NOT tested";
    }
  }

  static std::string preview(const std::string& arguments) {
    return fmt::format("data preview {} {}", kDemo, arguments);
  }
};

TEST_F(CliPreview, WritesPictureAndPageAndSaysSo) {
  const Result result = feroma_cli(
      preview(fmt::format("--clients 2 --rounds 2 --samples 1 --out {} --html {}", path("a.png"), path("a.html"))));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.output, "wrote " + path("a.png"))) << result.output;
  EXPECT_TRUE(contains(result.output, "wrote " + path("a.html"))) << result.output;
  EXPECT_TRUE(contains(result.output, "left out: 8 of 10 clients, 3 of 5 stages")) << result.output;
  EXPECT_TRUE(text_of(path("a.png")).starts_with("\x89PNG\r\n"));
  EXPECT_TRUE(contains(text_of(path("a.html")), "data:image/png;base64,"));
}

TEST_F(CliPreview, GivesTheSameBytesTwiceAndOthersForAnotherSeed) {
  const std::string small = "--clients 1 --rounds 1 --samples 1 --out ";
  ASSERT_EQ(feroma_cli(preview(small + path("a.png"))).exit_code, 0);
  ASSERT_EQ(feroma_cli(preview(small + path("b.png"))).exit_code, 0);
  ASSERT_EQ(feroma_cli(preview(small + path("c.png") + " --set scenario.seed=7")).exit_code, 0);
  EXPECT_EQ(text_of(path("a.png")), text_of(path("b.png")));
  EXPECT_NE(text_of(path("a.png")), text_of(path("c.png")));
}

TEST_F(CliPreview, RefusesToReplaceAFileWithoutForce) {
  std::ofstream(path("a.png")) << "mine";
  const std::string arguments = "--clients 1 --rounds 1 --samples 0 --out " + path("a.png");
  const Result refused = feroma_cli(preview(arguments), Stream::err);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(contains(refused.output, "a.png exists; --force replaces it")) << refused.output;
  EXPECT_EQ(text_of(path("a.png")), "mine");
  EXPECT_EQ(feroma_cli(preview(arguments + " --force")).exit_code, 0);
  EXPECT_NE(text_of(path("a.png")), "mine");
}

TEST_F(CliPreview, JsonHasTheWholeScheduleAndWritesNothingUnasked) {
  const Result result = feroma_cli(preview("--format json"));
  ASSERT_EQ(result.exit_code, 0);
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json["distributions"], 12);
  EXPECT_TRUE(json["files"].empty());
  ASSERT_EQ(json["stages"].size(), 5U);
  EXPECT_EQ(json["stages"][1], (nlohmann::json{{"stage", 2}, {"first_round", 3}, {"last_round", 4}}));
  ASSERT_EQ(json["clients"].size(), 10U);
  for (const auto& client : json["clients"]) {
    EXPECT_EQ(client["distributions"].size(), 5U);
    EXPECT_TRUE(client["test"] >= 1 && client["test"] <= 12) << client;
  }
  const auto part = nlohmann::json::parse(feroma_cli(preview("--format json --clients 3 --rounds 2")).output);
  EXPECT_EQ(part["clients"].size(), 3U);
  EXPECT_EQ(part["clients"][2]["distributions"][1], json["clients"][2]["distributions"][4]) << "the last stage";
}

TEST_F(CliFiles, PreviewOfABadConfigNamesKeyAndRule) {
  std::ofstream(path("bad.toml")) << "[scenario]\nclients = 0\n[[algorithm]]\nname = \"fedavg\"\n";
  const Result result = feroma_cli("data preview " + path("bad.toml"), Stream::err);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.output, "scenario.clients must be >= 1, got 0")) << result.output;
  const Result missing = feroma_cli("data preview " + path("none.toml"), Stream::err);
  EXPECT_TRUE(contains(missing.output, "none.toml")) << missing.output;
  EXPECT_NE(missing.exit_code, 0);
}

TEST_F(CliFiles, PreviewWithoutTheDatasetSaysHowToGetIt) {
  const Result result = feroma_cli(
      fmt::format("data preview {} --set scenario.data_dir={} --out {}", kDemo, path("x"), path("a.png")), Stream::err);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.output, "fmnist must be on this machine")) << result.output;
  EXPECT_FALSE(std::filesystem::exists(path("a.png")));
}

TEST_F(CliFiles, PreviewOfNoClientsIsBadUsage) {
  const Result result = feroma_cli(fmt::format("data preview {} --clients 0", kDemo), Stream::err);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.output, "--clients")) << result.output;
}

}  // namespace
}  // namespace feroma
