// Test accuracy of rounds in whole runs, as their files tell it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "feroma/core/files.h"
#include "feroma/core/log.h"
#include "feroma/runtime/run.h"
#include "tests/data/synthetic.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class TestedRun : public testing::Test {
 protected:
  TestedRun() {
    std::ofstream(scratch.path() / "dataset.toml")
        << "[dataset]\nkind = \"csv\"\nfile = \"rows.csv\"\nlabel_column = \"y\"\n";
    std::ofstream rows(scratch.path() / "rows.csv");
    rows << "a,b,y\n";
    for (int i = 0; i < 300; ++i) {
      rows << (i % 3 == 0 ? 1 : 2) + i % 7 << ',' << (i % 3 == 1 ? 1 : 3) - i % 5 << ',' << i % 3 << '\n';
    }
  }

  [[nodiscard]] Experiment experiment(const std::string& more) const {
    return read_experiment(parse_settings(
        fmt::format("[scenario]\ndataset = '{}'\nshift = 'concept_label'\ndrift_mode = 'trDR_teDR'\ndrifts = 2\n"
                    "clients = 4\nrounds = 5\nsamples_per_client = 40\n[training]\nmodel = 'mlp'\n"
                    "learning_rate = 0.1\n[[algorithm]]\nname = 'fedavg'\n[[algorithm]]\nname = 'feroma'\n"
                    "warmup_rounds = 2\nprofile.dimensions = 2\n{}",
                    scratch.path().string(), more),
        "my.toml"));
  }
  /// Runs until the end, or until so many rounds were played.
  fs::path run(const std::string& name, const Experiment& experiment, int threads = 1, int rounds = 1000) const {
    std::atomic<bool> stop = false;
    RunOptions options;
    options.out = scratch.path() / name;
    options.existing = fs::exists(options.out) ? Existing::resume : Existing::refuse;
    options.threads = threads;
    options.observer.round_finished = [&](const RoundRecord&, int) { stop = --rounds == 0; };
    try {
      static_cast<void>(run_experiment(experiment, options, stop));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::interrupted) << error.what();
    }
    return options.out;
  }
  /// A column of metrics.csv; empty where there is no such column.
  static std::vector<std::string> column(const fs::path& folder, const std::string& name) {
    std::ifstream file(folder / "metrics.csv");
    std::vector<std::vector<std::string>> lines;
    for (std::string line; std::getline(file, line);) {
      std::vector<std::string>& fields = lines.emplace_back();
      std::size_t begin = 0;
      for (std::size_t end = line.find(','); begin <= line.size(); end = line.find(',', begin)) {
        end = std::min(end, line.size());
        fields.push_back(line.substr(begin, end - begin));
        begin = end + 1;
      }
    }
    const auto& head = lines.at(0);
    const auto at = static_cast<std::size_t>(std::find(head.begin(), head.end(), name) - head.begin());
    std::vector<std::string> values;
    for (std::size_t i = 1; i < lines.size() && at < head.size(); ++i) {
      values.push_back(lines[i].at(at));
    }
    return values;
  }
  /// Everything in summary.json but times and memory.
  static Json figures(const fs::path& folder) {
    Json summary = Json::parse(read_text(folder / "summary.json"));
    for (Json& result : summary["results"]) {
      for (const char* key : {"seconds_total", "seconds", "samples_per_second", "peak_rss_bytes"}) {
        result.erase(key);
      }
    }
    return summary;
  }
  /// Takes the table away that earlier versions did not have.
  static void make_old(const fs::path& folder) {
    Settings kept = load_settings(folder / "config.toml");
    kept.erase("evaluation.every");
    write_file_atomically(folder / "config.toml", to_toml(kept));
  }

  test::ScratchFolder scratch;
};

TEST_F(TestedRun, HasAColumnThatEndsWithTheResultsAndChangesNothingElse) {
  const fs::path never = run("never", experiment("[evaluation]\nevery = 0\n"));
  EXPECT_EQ(column(never, "test_accuracy"), std::vector<std::string>(10));
  const fs::path always = run("always", experiment("[evaluation]\nevery = 1\n"), /*threads=*/3);
  const std::vector<std::string> tested = column(always, "test_accuracy");
  EXPECT_EQ(figures(always), figures(never));
  EXPECT_EQ(read_text(always / "clients.csv"), read_text(never / "clients.csv"));
  for (const char* name : {"loss", "accuracy_before", "accuracy_after", "personal_share"}) {
    EXPECT_EQ(column(always, name), column(never, name)) << name;
  }
  const Json results = figures(always)["results"];
  ASSERT_EQ(tested.size(), 10U);
  EXPECT_EQ(tested[4], fmt::format("{}", results[0]["accuracy"].get<double>()));
  EXPECT_EQ(tested[9], fmt::format("{}", results[1]["accuracy"].get<double>()));

  const fs::path sometimes = run("sometimes", experiment("[evaluation]\nevery = 2\n"));
  std::vector<std::string> expected = tested;
  for (const std::size_t round : {1U, 3U}) {
    expected[round - 1] = expected[5 + round - 1] = "";
  }
  EXPECT_EQ(column(sometimes, "test_accuracy"), expected);
  const fs::path stopped = run("stopped", experiment("[evaluation]\nevery = 2\n"), 1, /*rounds=*/7);
  EXPECT_EQ(column(stopped, "test_accuracy").size(), 7U);
  run("stopped", experiment(""));
  EXPECT_EQ(column(stopped, "test_accuracy"), expected) << "a run goes on as it began";
}

TEST_F(TestedRun, SaysInItsConfigHowOftenItIsTested) {
  const fs::path folder = run("run", experiment(""));
  const Settings kept = load_settings(folder / "config.toml");
  const auto every = std::get<std::int64_t>(kept.at("evaluation.every").value);
  EXPECT_GE(every, 1);
  EXPECT_LE(every, 5);
  const RunEstimate estimate = estimate_run(experiment(""), 1);
  EXPECT_EQ(estimate.test_every, every);
  EXPECT_LE(estimate.test_share, 0.05);
  const std::string events = read_text(folder / "events.jsonl");
  EXPECT_NE(events.find(fmt::format("\"evaluation.every\":{}", every)), std::string::npos);
}

TEST_F(TestedRun, AnEarlierRunGoesOnWithoutTests) {
  const fs::path whole = run("whole", experiment(""));
  const fs::path old = run("old", experiment("[evaluation]\nevery = 0\n"), 1, /*rounds=*/3);
  make_old(old);
  run("old", experiment("[evaluation]\nevery = 1\n"));
  EXPECT_EQ(figures(old), figures(whole));
  for (const std::string& value : column(old, "test_accuracy")) {
    EXPECT_EQ(value, "");
  }
  EXPECT_FALSE(load_settings(old / "config.toml").contains("evaluation.every")) << "the file is as it was";
}

// What a test client tells of its data costs, as often as it tells it.
TEST_F(TestedRun, NobodySpendsABudgetOnTests) {
  const std::string budget = "[privacy]\nmode = 'gaussian'\nepsilon_total = 500\n";
  std::vector<std::string> said;
  log::set_sink([&said](const log::Entry& entry) { said.emplace_back(entry.message); });
  const fs::path folder = run("tested", experiment("[evaluation]\nevery = 1\n" + budget));
  log::set_sink({});
  EXPECT_EQ(column(folder, "test_accuracy"), std::vector<std::string>(5))
      << "fedavg tells exact counts, and is not run";
  EXPECT_EQ(std::count(said.begin(), said.end(),
                       "feroma-auto: rounds are not tested: every test would spend the test clients' privacy budget "
                       "(privacy.mode gaussian)"),
            1);
  const fs::path untested = run("untested", experiment("[evaluation]\nevery = 0\n" + budget));
  EXPECT_EQ(figures(folder)["results"][1]["epsilon"], figures(untested)["results"][1]["epsilon"]);
  EXPECT_EQ(estimate_run(experiment(budget), 1).test_share, 0);
}

}  // namespace
}  // namespace feroma
