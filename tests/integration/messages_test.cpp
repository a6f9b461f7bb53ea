// What the program says to somebody who makes a small mistake.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "feroma/core/options.h"
#include "feroma/partition/shift.h"
#include "tests/integration/cli_support.h"
#include "tests/places.h"

namespace feroma {
namespace {

using namespace test;

/// A small table and a scenario for it.
class Messages : public CliFiles {
 protected:
  Messages() {
    std::filesystem::create_directories(path("table"));
    write("table/dataset.toml", "[dataset]\nkind = 'csv'\nfile = 'rows.csv'\nlabel_column = 'y'\n");
    std::string rows = "x,z,y\n";
    for (int i = 0; i < 120; ++i) {
      rows += std::to_string(i % 7) + ',' + std::to_string(i % 5) + ',' + std::to_string(i % 7 < 3 ? 0 : 1) + '\n';
    }
    write("table/rows.csv", rows);
    write("base.toml", "[scenario]\ndataset = '" + path("table") +
                           "'\nshift = 'iid'\nclients = 2\nrounds = 2\n[training]\nlocal_epochs = 1\n"
                           "[[algorithm]]\nname = 'fedavg'\n[[algorithm]]\nname = 'feroma'\n");
  }

  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  [[nodiscard]] std::string said(const std::string& options) const {
    return feroma_cli("run " + path("base.toml") + " --dry-run --out " + path("run") + " " + options, Stream::err)
        .output;
  }
};

TEST_F(Messages, AnAlgorithmIsCalledByItsLabelOrName) {
  EXPECT_TRUE(contains(said("--set algorithm.feroma-auto.warmup_rounds=9"),
                       "--set: algorithm.1.warmup_rounds must be < scenario.rounds (2), got 9"));
  EXPECT_TRUE(contains(said("--set algorithm.feroma.warmup_rounds=9"), "algorithm.1.warmup_rounds must be <"));
  EXPECT_TRUE(contains(said("--set algorithm.1.warmup_rounds=9"), "algorithm.1.warmup_rounds must be <"));
  EXPECT_TRUE(contains(said("--set algorithm.ifca.k=9"),
                       "algorithm.ifca.k must name an algorithm by its number or label: fedavg, feroma-auto"));
}

TEST_F(Messages, AnOptionOfAnotherMethodListsThoseItHas) {
  EXPECT_TRUE(contains(said("--set algorithm.fedavg.warmup_rounds=3"),
                       "--set: unknown key algorithm.0.warmup_rounds; did you mean algorithm.1.warmup_rounds?"));
  EXPECT_TRUE(contains(said("--set algorithm.fedavg.kmeans=3"),
                       "--set: unknown key algorithm.0.kmeans; \"fedavg\" has label, momentum_reset, name, preset"));
}

TEST_F(Messages, ABadShiftGetsAGuessAndNotThirtyNames) {
  const std::string text = said("--set scenario.shift=dirichlett");
  EXPECT_TRUE(contains(text,
                       "--set: scenario.shift must be one of 31 names, got \"dirichlett\"; did you mean "
                       "\"dirichlet\"?"))
      << text;
}

TEST_F(Messages, ANumberThatDoesNotFitIsANumber) {
  EXPECT_TRUE(contains(said("--set training.batch_size=99999999999999999999"),
                       "--set training.batch_size: a whole number must fit into 64 bits, got 99999999999999999999"));
}

TEST_F(Messages, AFolderIsNoConfig) {
  std::filesystem::create_directories(path("old"));
  write("old/config.toml", "");
  const Result result = feroma_cli("run " + path("old"), Stream::err);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.output,
                       path("old") + ": is a folder, not a config file; did you mean " + path("old/config.toml") + "?"))
      << result.output;
}

TEST_F(Messages, ARateThatIsTooLargeIsNamed) {
  const Result result = feroma_cli(
      "run " + path("base.toml") + " --threads 1 --set training.learning_rate=1e9 --out " + path("run"), Stream::err);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_TRUE(contains(result.output, "too large")) << result.output;
  EXPECT_FALSE(contains(result.output, "-nan")) << result.output;
}

TEST_F(Messages, AReadOnlyFolderIsNoticedBeforeTheDataAreRead) {
  if (::geteuid() == 0) {
    GTEST_SKIP() << "nothing is read-only to root";
  }
  std::filesystem::create_directories(path("locked"));
  ASSERT_EQ(::chmod(path("locked").c_str(), 0500), 0);
  std::filesystem::remove(path("table/rows.csv"));
  const Result result = feroma_cli("run " + path("base.toml") + " --out " + path("locked/run"), Stream::err);
  EXPECT_TRUE(contains(result.output, path("locked"))) << result.output;
  EXPECT_FALSE(contains(result.output, "rows.csv")) << result.output;
}

TEST_F(Messages, APlaceThatIsAFileIsNoticedBeforeTheDataAreRead) {
  std::filesystem::remove(path("table/rows.csv"));
  write("file", "x");
  const Result result = feroma_cli("run " + path("base.toml") + " --out " + path("file/run"), Stream::err);
  EXPECT_TRUE(contains(result.output, path("file"))) << result.output;
  EXPECT_FALSE(contains(result.output, "rows.csv")) << result.output;
}

TEST_F(Messages, WhatInitWritesRunsWithEveryShift) {
  ASSERT_EQ(feroma_cli("init " + path("study")).exit_code, 0);
  const std::string written = text_of(path("study.toml"));
  for (const auto& [shift, name] : enum_names(Shift{})) {
    std::string text = written;
    const std::string was = "shift = \"covariate\"";
    ASSERT_NE(text.find(was), std::string::npos);
    text.replace(text.find(was), was.size(), "shift = \"" + std::string(name) + "\"");
    const std::string data = "dataset = \"fmnist\"";
    if (!changes_pictures(shift)) {  // the others are tried on the dataset that init names
      text.replace(text.find(data), data.size(), "dataset = \"" + path("table") + "\"");
    } else if (name != name_of(shift)) {
      continue;  // another spelling of what was tried
    }
    write("study.toml", text);
    const Result result = feroma_cli("run " + path("study.toml") + " --dry-run --out " + path("run"), Stream::err);
    const bool needs_more = shift == Shift::natural || shift == Shift::natural_id;
    EXPECT_EQ(result.exit_code, needs_more ? 2 : 0) << name << ": " << result.output;
    if (needs_more) {
      EXPECT_TRUE(contains(result.output, "study.toml:") && contains(result.output, "scenario.shift must not be"))
          << result.output;
    }
  }
}

TEST_F(Messages, AFileOfInitWithATableSaysWhatToDoAboutItsShift) {
  ASSERT_EQ(feroma_cli("init " + path("study")).exit_code, 0);
  std::string text = text_of(path("study.toml"));
  const std::string data = "dataset = \"fmnist\"";
  text.replace(text.find(data), data.size(), "dataset = \"" + path("table") + "\"");
  const auto dry_run = [&](const std::string& scenario) {
    write("study.toml", scenario);
    return feroma_cli("run " + path("study.toml") + " --dry-run --out " + path("run"), Stream::err);
  };
  const Result refused = dry_run(text);
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_TRUE(contains(refused.output, "study.toml:") &&
              contains(refused.output,
                       "take the line out, so that the shift follows the data, or write one that "
                       "changes no pictures, like \"dirichlet\""))
      << refused.output;
  const std::string line = "shift = \"covariate\"";
  for (const char* answer : {"# shift", "shift = \"dirichlet\""}) {  // what it says works
    std::string mended = text;
    const Result result = dry_run(mended.replace(mended.find(line), line.size(), answer));
    EXPECT_EQ(result.exit_code, 0) << answer << ": " << result.output;
  }
}

TEST_F(Messages, AReportMayGoToStandardOutput) {
  ASSERT_EQ(feroma_cli("run " + path("base.toml") + " --threads 1 --out " + path("run")).exit_code, 0);
  const Result csv = feroma_cli("report " + path("run") + " --csv -");
  EXPECT_EQ(csv.exit_code, 0);
  EXPECT_TRUE(csv.output.starts_with("table,")) << csv.output.substr(0, 200);
  EXPECT_FALSE(std::filesystem::exists("-"));
  EXPECT_TRUE(feroma_cli("report " + path("run") + " --latex -").output.starts_with("% Made by feroma report"));
  EXPECT_TRUE(feroma_cli("report " + path("run") + " --html -").output.starts_with("<!doctype html>"));
  const Result both = feroma_cli("report " + path("run") + " --csv - --latex -", Stream::err);
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_TRUE(contains(both.output, "only one of --html, --csv, --latex and --format json may go to standard output"));
}

TEST(DataMessages, WhatCannotBeFetchedIsNotSaidToBe) {
  const std::string home = "FEROMA_DATA=/nowhere ";
  const Result list = shell(home + kProgram + " data list");
  EXPECT_FALSE(contains(list.output, "feroma data get emnist")) << list.output;
  EXPECT_TRUE(
      contains(list.output, "absent (download gzip.zip of EMNIST from NIST and unpack it into /nowhere/emnist)"))
      << list.output;
}

TEST(DataMessages, GetTakesAFolder) {
  const Result result = feroma_cli("data get emnist --dir /nowhere/letters", Stream::err);
  EXPECT_TRUE(contains(result.output,
                       "emnist cannot be fetched for you: download gzip.zip of EMNIST from NIST and "
                       "unpack it into /nowhere/letters"))
      << result.output;
}

TEST(ListMessages, ShiftsAreCreditedToTheirAuthors) {
  const auto shifts = nlohmann::json::parse(feroma_cli("list shifts --format json").output);
  for (const auto& row : shifts) {
    if (row["name"] == "dirichlet") {
      EXPECT_EQ(row["source"], "Hsu et al., 2019");
    }
    if (row["name"] == "covariate") {
      EXPECT_EQ(row["source"], "Feroma, ICLR 2026; ANDA generator");
    }
  }
}

}  // namespace
}  // namespace feroma
