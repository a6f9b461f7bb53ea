#include <nlohmann/json.hpp>
#include <regex>

#include "cli_support.h"

namespace feroma::test {
namespace {

class LogFormat : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!contains(feroma_cli("--version").output, "network (gRPC): yes")) {
      GTEST_SKIP() << "this build has no network: --log-format is NOT tested";
    }
  }
};

TEST_F(LogFormat, JsonIsOneObjectPerLine) {
  for (const std::string command : {"server", "client --client 0"}) {
    const Result result = feroma_cli(command + " missing.toml --insecure --log-format json", Stream::err);
    EXPECT_NE(result.exit_code, 0);
    const auto line = nlohmann::json::parse(result.output, nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(line.is_object()) << result.output;
    EXPECT_EQ(line.at("level"), "error");
    EXPECT_TRUE(contains(line.at("message"), "missing.toml")) << result.output;
    const std::regex time(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)");
    EXPECT_TRUE(std::regex_match(line.at("time").get<std::string>(), time)) << result.output;
  }
}

TEST_F(LogFormat, WhatIsNoTextDoesNotEndTheLog) {
  const Result result = feroma_cli("server '\xff\n\".toml' --insecure --log-format json", Stream::err);
  EXPECT_TRUE(nlohmann::json::accept(result.output)) << result.output;
}

TEST_F(LogFormat, TextIsForPeople) {
  const Result result = feroma_cli("server missing.toml --insecure", Stream::err);
  EXPECT_TRUE(result.output.starts_with("feroma: ")) << result.output;
}

TEST_F(LogFormat, OthersAreRefused) {
  const Result result = feroma_cli("server missing.toml --log-format xml", Stream::err);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.output, "must be text or json, got xml")) << result.output;
}

}  // namespace
}  // namespace feroma::test
