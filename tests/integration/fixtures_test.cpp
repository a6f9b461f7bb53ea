// What earlier versions wrote goes on under this one, to the same bits, or is refused by name. tests/fixtures/make.py
// made the files and says how.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "feroma/core/files.h"
#include "feroma/core/simd.h"
#include "tests/integration/federation_files.h"
#include "tests/places.h"

namespace feroma::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class Fixtures : public CliFiles {
 protected:
  void SetUp() override {
    const std::vector<SimdTarget> here = simd_targets();
    if (std::find(here.begin(), here.end(), SimdTarget::avx2) == here.end()) {
      GTEST_SKIP() << "this machine has no AVX2: whether files of earlier versions go on is NOT tested";
    }
    const Result unpacked =
        shell("tar -xJf '" + source_file("tests/fixtures/2026-11.tar.xz").string() + "' -C " + path(""));
    ASSERT_EQ(unpacked.exit_code, 0);
    expected_ = Json::parse(text("expected.json"));
  }

  /// The program at work where the files lie, as their paths are relative.
  [[nodiscard]] Result feroma(const std::string& arguments) const {
    return shell("cd " + path("") + " && " + kProgram + " " + arguments + " 2>&1");
  }
  [[nodiscard]] std::string text(const std::string& name) const { return text_of(path(name)); }

  /// A run or a federation's results came to what the program made of it that began it.
  void expect_the_same(const std::string& name) const {
    SCOPED_TRACE(name);
    const Json& expected = expected_.at(name);
    ASSERT_FALSE(expected.at("models").empty());
    for (const auto& [file, digest] : expected.at("models").items()) {
      const Bytes bytes = read_file(path(name + "/" + file));
      EXPECT_EQ(sha256(bytes), digest.get<std::string>()) << file;
    }
    if (expected.at("results").empty()) {
      return;
    }
    const Json results = Json::parse(text(name + "/summary.json")).at("results");
    ASSERT_EQ(results.size(), expected.at("results").size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      for (const auto& [key, value] : expected.at("results")[i].items()) {
        EXPECT_EQ(results[i].value(key, Json()), value) << key << " of result " << i;
      }
    }
  }

  void expect_to_go_on(const std::string& config, const std::string& name) const {
    SCOPED_TRACE(name);
    ASSERT_FALSE(fs::exists(path(name + "/summary.json")));
    const std::string header = text(name + "/metrics.csv").substr(0, text(name + "/metrics.csv").find('\n'));
    const std::string begun_with = text(name + "/config.toml");
    const Result resumed = feroma("run " + config + " --out " + name + " --resume");
    ASSERT_EQ(resumed.exit_code, 0) << resumed.output;
    expect_the_same(name);
    EXPECT_TRUE(text(name + "/metrics.csv").starts_with(header + "\n"));
    EXPECT_EQ(text(name + "/config.toml"), begun_with);
    EXPECT_EQ(feroma("report " + name).exit_code, 0);
  }

  /// A server goes on with its store and the clients with theirs, up to the end.
  [[nodiscard]] Result federation(const std::string& config, const std::string& state,
                                  const std::string& clients) const {
    return shell("cd " + path("") + "; feroma=" + kProgram + "; config=" + config + "; state=" + state + R"(
timeout 60 $feroma server $config --insecure --state $state --listen 127.0.0.1:0 >server.out 2>server.err &
server=$!
)" + kWaitForPort +
                 clients + R"(
wait $server
code=$?
wait
cat server.err
exit $code)");
  }

 private:
  Json expected_;
};

TEST_F(Fixtures, AFinishedRunIsReportedServedAndLeftAsItIs) {
  const std::string summary = text("run/summary.json");
  const Result report = feroma("report run --csv table.csv");
  EXPECT_EQ(report.exit_code, 0) << report.output;
  const Result assigned = feroma("assign run visitor --algorithm feroma-auto --out again");
  ASSERT_EQ(assigned.exit_code, 0) << assigned.output;
  EXPECT_EQ(text("again/model-0.safetensors"), text("assigned/model-0.safetensors"));
  EXPECT_EQ(text("run/summary.json"), summary);
  const Result resumed = feroma("run run.toml --out run --resume");
  EXPECT_EQ(resumed.exit_code, 0) << resumed.output;
  expect_the_same("run");
}

TEST_F(Fixtures, InterruptedRunsGoOnToTheSameBits) {
  expect_to_go_on("run.toml", "run-cut");
  expect_to_go_on("feroma.toml", "feroma-cut");
}

// Its inputs were scaled by constants of the whole dataset, which nobody kept.
TEST_F(Fixtures, ARunOfScaledInputsIsRefusedByName) {
  const std::string metrics = text("standardised-cut/metrics.csv");
  const Result resumed = feroma("run standardised.toml --out standardised-cut --resume");
  EXPECT_NE(resumed.exit_code, 0);
  EXPECT_TRUE(contains(resumed.output, "standardise was in version 1, is in version 2: begin anew")) << resumed.output;
  EXPECT_EQ(text("standardised-cut/metrics.csv"), metrics) << "nothing is touched";
}

TEST_F(Fixtures, ARunGoesOnWithItsOwnConfigToo) { expect_to_go_on("run-cut/config.toml", "run-cut"); }

TEST_F(Fixtures, ARunUnderABudgetGoesOnWithItsLedgers) {
  const std::string released = text("private-cut/ledgers/feroma-auto/client-0/released/1.bin");
  const std::string ledger = text("private-cut/ledgers/feroma-auto/client-0/ledger");
  ASSERT_FALSE(released.empty());
  expect_to_go_on("private.toml", "private-cut");
  EXPECT_EQ(text("private-cut/ledgers/feroma-auto/client-0/released/1.bin"), released);
  EXPECT_TRUE(text("private-cut/ledgers/feroma-auto/client-0/ledger").starts_with(ledger)) << "spent stays spent";
}

TEST_F(Fixtures, WhatWasAssignedPredictsTheSame) {
  const Result predicted = feroma("predict assigned visitor --out again.csv");
  ASSERT_EQ(predicted.exit_code, 0) << predicted.output;
  EXPECT_EQ(text("again.csv"), text("predictions.csv"));
}

TEST_F(Fixtures, CellsOfASweepCountAsDone) {
  const Result planned = feroma("sweep grid.toml --out sweep --dry-run");
  EXPECT_EQ(planned.exit_code, 0) << planned.output;
  const Json before = Json::parse(feroma("sweep grid.toml --out sweep --dry-run --format json").output);
  EXPECT_EQ(before.at("done"), 2) << before.dump(2);
  const Result swept = feroma("sweep grid.toml --out sweep --format json");
  ASSERT_EQ(swept.exit_code, 0) << swept.output;
  EXPECT_EQ(swept.output.find("\"ran\": true"), std::string::npos) << swept.output;
  const Result report = feroma("report sweep/results.db");
  EXPECT_EQ(report.exit_code, 0) << report.output;
}

class FixturesOfAFederation : public Fixtures {
 protected:
  void SetUp() override {
    if (!contains(feroma_cli("--version").output, "network (gRPC): yes")) {
      GTEST_SKIP() << "this build has no network: whether federations of earlier versions go on is NOT tested";
    }
    Fixtures::SetUp();
  }
};

TEST_F(FixturesOfAFederation, AServerGoesOnFromItsStoreAndClientsFromTheirs) {
  const Result check = feroma("server federation.toml --insecure --state federation --check");
  EXPECT_TRUE(contains(check.output, "holds this federation")) << check.output;
  const Result ended = federation("federation.toml", "federation", R"(
for i in 0 1; do
  timeout 60 $feroma client federation.toml --client $i --state client-$i --insecure --server 127.0.0.1:$port \
    >client.out$i 2>&1 &
done)");
  ASSERT_EQ(ended.exit_code, 0) << ended.output << text("client.out0") << text("client.out1");
  EXPECT_TRUE(contains(text("client.out0"), "joined as client 0, round 1 is finished")) << "not one begun anew";
  expect_the_same("federation");
}

TEST_F(FixturesOfAFederation, ClientsWithABudgetGoOnWithTheirLedgers) {
  const std::string ledger = text("site-0-state/ledger/ledger");
  const std::string released = text("site-0-state/ledger/released/1.bin");
  const std::string versions = text("site-0-state/data.versions");
  ASSERT_FALSE(ledger.empty() || released.empty() || versions.empty());
  const Result ended = federation("sites.toml", "sites", R"(
for i in 0 1; do
  timeout 60 $feroma client --data site-$i --client $i --state site-$i-state --insecure --server 127.0.0.1:$port \
    >client.out$i 2>&1 &
done)");
  ASSERT_EQ(ended.exit_code, 0) << ended.output << text("client.out0") << text("client.out1");
  EXPECT_TRUE(text("site-0-state/ledger/ledger").starts_with(ledger)) << "spent stays spent";
  EXPECT_EQ(text("site-0-state/ledger/released/1.bin"), released);
  EXPECT_EQ(text("site-0-state/data.versions"), versions) << "the same files are the same version";
  EXPECT_TRUE(fs::exists(path("sites/results")));
}

}  // namespace
}  // namespace feroma::test
