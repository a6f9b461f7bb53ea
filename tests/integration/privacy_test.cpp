#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "feroma/privacy/ledger.h"
#include "tests/core/temp_folder.h"
#include "tests/integration/cli_support.h"

namespace feroma {
namespace {

using test::contains;
using test::feroma_cli;
using test::Result;
using test::Stream;

TEST(PrivacyCommand, CalibratesABudget) {
  const Result result = feroma_cli("privacy calibrate --epsilon 5 --releases 20 --records 300 2000 --format json");
  ASSERT_EQ(result.exit_code, 0);
  const auto answer = nlohmann::json::parse(result.output);
  EXPECT_NEAR(answer["rho_release"].get<double>() * 20, 0.55097, 1e-3);
  ASSERT_EQ(answer["sizes"].size(), 2U);
  EXPECT_LT(answer["sizes"][0]["match_rotated"], answer["sizes"][1]["match_rotated"]);
  const auto exchanged = nlohmann::json::parse(
      feroma_cli("privacy calibrate --epsilon 5 --releases 20 --replace-one --format json").output);
  EXPECT_NEAR(exchanged["noise_on_sums"].get<double>() / answer["noise_on_sums"].get<double>(), 2.301 / 1.2182, 1e-3);
  const auto pure =
      nlohmann::json::parse(feroma_cli("privacy calibrate --mode pure --releases 1 --format json").output);
  EXPECT_NEAR(pure["noise_on_sums"].get<double>(), 17.32 / 5, 0.01);
  EXPECT_TRUE(contains(feroma_cli("privacy calibrate").output, "match, permuted"));
}

TEST(PrivacyCommand, ThePapersModeIsNoGuarantee) {
  const Result result = feroma_cli("privacy explain --mode paper --epsilon 10 --records 300");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.output, "no DP guarantee"));
  EXPECT_TRUE(contains(result.output, "61829")) << result.output;
  EXPECT_FALSE(contains(result.output, "differential privacy of"));
}

TEST(PrivacyCommand, SaysWhatIsProtectedAndWhatIsNot) {
  for (const char* mode : {"pure", "gaussian"}) {
    const Result result = feroma_cli(std::string("privacy explain --mode ") + mode + " --epsilon 2");
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(contains(result.output, "one labelled record of one client"));
    EXPECT_TRUE(contains(result.output, "Model updates are not covered by this guarantee"));
  }
  EXPECT_TRUE(contains(feroma_cli("privacy explain --mode off").output, "no protection"));
}

TEST(PrivacyCommand, AuditsALedger) {
  const test::TempFolder folder;
  {
    Ledger ledger(folder.path(), {});
    for (int version = 1; version <= 2; ++version) {
      static_cast<void>(ledger.release({"profile", "study", version, 1}, {0.05, {}}, [] { return Bytes(8); }));
    }
  }
  const Result result = feroma_cli("privacy audit " + folder.path().string() + " --format json");
  ASSERT_EQ(result.exit_code, 0);
  const auto answer = nlohmann::json::parse(result.output);
  EXPECT_EQ(answer["releases"].size(), 2U);
  EXPECT_NEAR(answer["epsilon"].get<double>(), 1.914239, 1e-4);
  folder.write("released/2.bin", Bytes(9));
  const Result damaged = feroma_cli("privacy audit " + folder.path().string(), Stream::err);
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_TRUE(contains(damaged.output, "2.bin: is damaged: its SHA-256"));
}

TEST(PrivacyCommand, VouchesForALedger) {
  const feroma::test::TempFolder folder;
  const std::string ledger = (folder / "ledger").string();
  const std::string vouch = "privacy vouch " + ledger + " --job study --releases 3 --rho 0.06 --reason ";
  EXPECT_EQ(feroma_cli("privacy vouch " + ledger + " --job study --releases 3 --rho 0.06").exit_code, 2) << "no reason";
  const Result result = feroma_cli(vouch + "'the disk broke'");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.output, "line 1 says that 3 releases to study are answered for")) << result.output;
  const Result again = feroma_cli(vouch + "'once more'", Stream::err);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_TRUE(contains(again.output, "has 3 releases to study")) << again.output;
  const Result text = feroma_cli("privacy audit " + ledger);
  EXPECT_TRUE(contains(text.output, ": 3 releases to study in all, rho 0.06; the disk broke")) << text.output;
  EXPECT_TRUE(contains(text.output, "\n3 releases, rho 0.06, ")) << text.output;
  const auto answer = nlohmann::json::parse(feroma_cli("privacy audit " + ledger + " --format json").output);
  EXPECT_EQ(answer["releases"][0]["kind"], "vouched");
  EXPECT_EQ(answer["releases"][0]["reason"], "the disk broke");
}

TEST(PrivacyCommand, RefusesWhatIsNoBudget) {
  EXPECT_EQ(feroma_cli("privacy calibrate --epsilon 0").exit_code, 2);
  EXPECT_EQ(feroma_cli("privacy calibrate --mode paper").exit_code, 2);
  EXPECT_EQ(feroma_cli("privacy explain").exit_code, 2);
  EXPECT_EQ(feroma_cli("privacy audit /nowhere").exit_code, 2);
  EXPECT_EQ(feroma_cli("privacy calibrate --records 3").exit_code, 2);
}

}  // namespace
}  // namespace feroma
