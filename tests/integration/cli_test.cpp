#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "feroma/core/options.h"
#include "feroma/core/settings.h"
#include "feroma/core/simd.h"
#include "feroma/partition/scenario.h"
#include "tests/integration/cli_support.h"
#include "tests/places.h"

namespace feroma {
namespace {

using namespace test;

/// Names under "Subcommands:" in a help text, without those below them.
std::vector<std::string> subcommands(const std::string& help) {
  std::vector<std::string> names;
  std::istringstream lines(help.substr(std::min(help.find("Subcommands:\n"), help.size())));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && line.starts_with("  ")) {
    if (line[2] != ' ') {
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
  }
  return names;
}

/// What an example says is a command line that the program takes; files need not be there.
void expect_taken(const std::string& example) {
  std::istringstream lines(example);
  for (std::string line; std::getline(lines, line);) {
    for (const std::string& command : commands_of(trimmed(line))) {
      if (command.starts_with("feroma ")) {
        const Result result = feroma_cli("--parse-only " + command.substr(command.find(' ')), Stream::err);
        EXPECT_TRUE(result.exit_code == 0 || contains(result.output, "does not exist: ")) << command << "\n"
                                                                                          << result.output;
      }
    }
  }
}

/// Every command's help, from `path` downwards.
void expect_examples(const std::string& path) {
  const Result help = feroma_cli(path + " --help");
  EXPECT_EQ(help.exit_code, 0) << path;
  // CLI11 hands a parent's footer down, so the example must name the command itself.
  const std::size_t example = help.output.find("Example:");
  EXPECT_TRUE(example != std::string::npos && contains(help.output.substr(example), "feroma" + path))
      << "feroma" << path << " --help has no example of its own:\n"
      << help.output;
  expect_taken(help.output.substr(std::min(example, help.output.size())));
  for (const std::string& name : subcommands(help.output)) {
    expect_examples(path + " " + name);
  }
}

TEST(Cli, VersionListsFeaturesCompilerAndSimdTarget) {
  const Result result = feroma_cli("--version");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.output.starts_with("feroma 0.")) << result.output;
  for (const char* part : {"engines: native", "downloads (libcurl): ", "compiler: ", "SIMD target: "}) {
    EXPECT_TRUE(contains(result.output, part)) << part << " is missing in:\n" << result.output;
  }
  const std::string target =
      fmt::format("SIMD target: {} (of {})", name_of(simd_targets().front()), simd_target_names());
  EXPECT_TRUE(contains(result.output, target)) << result.output;
}

TEST(Cli, AnUnknownOrForeignSimdTargetIsBadUsageThatListsThisMachines) {
  for (const char* name : {"mmx", simd_targets().front() == SimdTarget::neon ? "avx2" : "neon"}) {
    const Result result = feroma_cli(fmt::format("run x.toml --simd {}", name), Stream::err);
    EXPECT_EQ(result.exit_code, 2) << name;
    EXPECT_EQ(result.output,
              fmt::format("feroma: --simd: must be auto or one of what this machine has ({}), got {}\nSee feroma run "
                          "--help.\n",
                          simd_target_names(), name));
  }
}

TEST(Cli, HelpNamesTheCommands) {
  const std::vector<std::string> names = subcommands(feroma_cli("--help").output);
  for (const char* name : {"init", "run", "data", "list", "bench"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
}

TEST(Cli, HelpMayBeAskedForAsACommand) {
  for (const std::string command : {"", "run", "data get"}) {
    const Result expected = feroma_cli(command + " --help");
    const Result result = feroma_cli("help " + command);
    EXPECT_EQ(result.exit_code, 0) << command;
    EXPECT_TRUE(contains(result.output, "Usage: feroma " + command)) << result.output;
    EXPECT_EQ(result.output, expected.output);
  }
}

TEST(Cli, EveryHelpHasAnExample) { expect_examples(""); }

TEST(Cli, NoCommandIsBadUsage) {
  const Result result = feroma_cli("", Stream::err);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.output, "See feroma --help.")) << result.output;
}

TEST(Cli, UnknownCommandSuggestsTheNearest) {
  const Result result = feroma_cli("lits", Stream::err);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, "feroma: unknown command lits; did you mean list?\nSee feroma --help.\n");
}

TEST(Cli, UnknownOptionSuggestsTheNearest) {
  const Result result = feroma_cli("init --froce", Stream::err);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, "feroma: unknown option --froce; did you mean --force?\nSee feroma init --help.\n");
}

TEST(Cli, UnknownOptionOfANestedCommandNamesThatCommand) {
  const Result result = feroma_cli("list models --fromat=json", Stream::err);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, "feroma: unknown option --fromat; did you mean --format?\nSee feroma list models --help.\n");
}

TEST(Cli, UnknownListSuggestsTheNearest) {
  const Result result = feroma_cli("list algoritms", Stream::err);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.output, "did you mean algorithms?")) << result.output;
}

TEST(Cli, UnknownFormatSaysTheRuleAndTheValue) {
  const Result result = feroma_cli("list models --format xml", Stream::err);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.output, "must be text or json, got xml")) << result.output;
}

TEST(Cli, ErrorsInAPipeHaveNoColour) { EXPECT_FALSE(contains(feroma_cli("nothing", Stream::err).output, "\033[")); }

TEST(Cli, ErrorsOnATerminalAreRedUnlessNoColor) {
  const std::string run = "TERM=xterm script -qec '" + std::string(kProgram) + " nothing' /dev/null";
  const Result coloured = shell("env -u NO_COLOR " + run);
  if (coloured.exit_code == 127) {
    GTEST_SKIP() << "script(1), which plays a terminal, is not installed";
  }
  EXPECT_TRUE(contains(coloured.output, "\033[31mferoma:")) << coloured.output;
  EXPECT_FALSE(contains(shell("NO_COLOR=1 " + run).output, "\033["));
}

TEST(CliList, EveryListIsValidJsonWithNamesAndSources) {
  for (const char* kind : {"algorithms", "datasets", "models", "shifts", "drift-modes"}) {
    const Result result = feroma_cli(std::string("list ") + kind + " --format json");
    EXPECT_EQ(result.exit_code, 0) << kind;
    const auto list = nlohmann::json::parse(result.output, nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(list.is_array()) << kind << ":\n" << result.output;
    EXPECT_FALSE(list.empty()) << kind;
    for (const auto& row : list) {
      EXPECT_FALSE(row.value("name", "").empty()) << kind;
      EXPECT_FALSE(row.value("source", "").empty()) << kind << ": " << row;
    }
  }
}

TEST(CliList, EverySystemOfThePaperIsListedWithItsCategoryAndPaper) {
  const std::map<std::string, std::pair<std::string, std::string>> expected{
      {"fedavg", {"global", "McMahan"}},
      {"fedrc", {"clustered, soft", "Guo"}},
      {"fedem", {"clustered, soft", "Marfoq"}},
      {"fesem", {"clustered", "Xie"}},
      {"cfl", {"clustered", "Sattler"}},
      {"ifca", {"clustered", "Ghosh"}},
      {"feddrift", {"clustered, drift", "Jothimurugesan"}},
      {"pfedme", {"personalised", "Dinh"}},
      {"apfl", {"personalised", "Deng"}},
      {"atp", {"test-time adaptation", "Bao"}},
      {"cola", {"test-time adaptation", "Chen"}},
      {"fedproto", {"personalised", "Tan"}},
      {"fedgps", {"global", "Yang"}},
      {"foogd", {"global", "Liao"}},
      {"shiftex", {"clustered, drift", "a reconstruction of Bhope"}},
      {"fedprox", {"global", "Li"}},
      {"scaffold", {"global", "Karimireddy"}},
      {"fedadam", {"global", "Reddi"}},
      {"fedyogi", {"global", "Reddi"}},
      {"ditto", {"personalised", "Li"}},
  };
  std::map<std::string, std::pair<std::string, std::string>> listed;
  const auto list = nlohmann::json::parse(feroma_cli("list algorithms --format json").output);
  for (const auto& row : list) {
    listed[row["name"]] = {row["about"], row["source"]};
  }
  for (const auto& [name, entry] : expected) {
    EXPECT_EQ(listed[name].first, entry.first) << name;
    EXPECT_TRUE(listed[name].second.starts_with(entry.second)) << name << ": " << listed[name].second;
  }
  for (const char* control : {"feroma", "fedavg-ft", "local", "centralised"}) {
    EXPECT_TRUE(listed.contains(control)) << control;
  }
}

TEST(CliList, DocsSayWhatServesATestClientOfEveryMethod) {
  const std::string page = text_of(source_file("docs/report.md").string());
  const auto list = nlohmann::json::parse(feroma_cli("list algorithms --format json").output);
  for (const auto& row : list) {
    const std::string line =
        fmt::format("| `{}` | {} |\n", row.at("name").get<std::string>(), row.at("headline").get<std::string>());
    EXPECT_TRUE(contains(page, line)) << line;
  }
}

TEST(CliList, PrintsOneLineEach) {
  const std::string text = feroma_cli("list shifts").output;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 18);
  EXPECT_TRUE(text.starts_with("covariate ")) << text;
  EXPECT_TRUE(contains(text, "P(Y|X)")) << text;
}

TEST(CliBench, JsonHasEveryFigureOfTheContract) {
  const Result result = feroma_cli("bench --quick --only threads_2_over_1 --format json");
  EXPECT_EQ(result.exit_code, 0);
  const auto json = nlohmann::json::parse(result.output, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(json.is_object()) << result.output;
  for (const char* key : {"fma_peak_gflops", "native_over_torch", "native_peak_share", "threads_2_over_1",
                          "feroma_over_fedavg", "map_aggregate_share_k1000"}) {
    ASSERT_TRUE(json.contains(key)) << key;
    EXPECT_TRUE(json[key].is_null() || json[key].is_number()) << key << ": " << json[key];
  }
  for (const char* key : {"cpu", "simd", "threads", "raw", "figures"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_TRUE(json["fma_peak_gflops"].is_null()) << "not asked for";
}

TEST(CliBenchSlow, RequirementsAreFiveWithValuesTargetsAndAnswers) {
  const Result result = feroma_cli("bench --requirements --quick --format json");
  EXPECT_EQ(result.exit_code, 0);
  const auto json = nlohmann::json::parse(result.output, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(json.is_object()) << result.output;
  EXPECT_EQ(json["quick"], true);
  for (const char* id : {"R1", "R2", "R3", "R4", "R5"}) {
    const auto& requirement = json["requirements"][id];
    ASSERT_TRUE(requirement.is_object()) << id;
    EXPECT_TRUE(requirement["met"].is_boolean() || requirement["met"].is_null()) << id;
    EXPECT_FALSE(requirement["title"].empty()) << id;
    for (const auto& [name, one] : requirement["results"].items()) {
      EXPECT_TRUE(one["value"].is_number()) << name;
      EXPECT_EQ(one["target"].is_null(), one["met"].is_null()) << name;
    }
  }
  EXPECT_EQ(json["requirements"]["R5"]["results"]["share_lenet5_auto"]["target"], "<= 0.02");
}

TEST(CliBench, RequirementsStandAlone) {
  EXPECT_EQ(feroma_cli("bench --requirements --only job_seconds", Stream::err).exit_code, 2);
}

TEST(CliBench, UnknownFigureIsBadUsageAndListsTheKnownOnes) {
  const Result result = feroma_cli("bench --only speed", Stream::err);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.output, "fma_peak_gflops")) << result.output;
  EXPECT_TRUE(contains(result.output, "got speed")) << result.output;
}

TEST_F(CliFiles, BenchAppendsRowsToACsvFile) {
  const std::string command = "bench --quick --only fma_peak_gflops --csv " + path("history.csv");
  ASSERT_EQ(feroma_cli(command).exit_code, 0);
  ASSERT_EQ(feroma_cli(command).exit_code, 0);
  const std::string text = text_of(path("history.csv"));
  EXPECT_TRUE(text.starts_with("date,version,machine,figure,median,spread,note\n")) << text;
  EXPECT_NE(text.find("quick: do not quote"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), ','), 18) << text;
}

TEST_F(CliFiles, InitWritesTheDefaultScenario) {
  ASSERT_EQ(feroma_cli("init " + path("study")).exit_code, 0);
  const Settings settings = load_settings(path("study.toml"));
  Problems problems;
  SettingsReader reader(settings, problems);
  ScenarioOptions options;
  options.dataset = "not the default";
  options.rounds = 1;
  reader.read(options, "scenario");
  EXPECT_TRUE(problems.messages().empty()) << problems.messages().front();

  Settings written;
  Settings defaults;
  write_settings(options, "scenario", written);
  write_settings(ScenarioOptions{}, "scenario", defaults);
  EXPECT_EQ(to_toml(written), to_toml(defaults));
  EXPECT_EQ(settings.at("algorithm.0.name").value, SettingValue("feroma"));
  EXPECT_EQ(settings.at("algorithm.1.name").value, SettingValue("fedavg"));
  EXPECT_EQ(settings.at("training.batch_size").value, SettingValue(std::int64_t{64}));
  EXPECT_EQ(settings.at("privacy.mode").value, SettingValue("off"));
}

TEST_F(CliFiles, InitCommentsEveryLine) {
  ASSERT_EQ(feroma_cli("init " + path("study.toml")).exit_code, 0);
  std::ifstream file(path("study.toml"));
  for (std::string line; std::getline(file, line);) {
    EXPECT_TRUE(line.empty() || line.front() == '[' || contains(line, "# ")) << line;
  }
}

TEST_F(CliFiles, InitWritesWhatRunAccepts) {
  ASSERT_EQ(feroma_cli("init " + path("study")).exit_code, 0);
  const Result result = feroma_cli("run " + path("study.toml") + " --dry-run --out " + path("run"), Stream::err);
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

TEST_F(CliFiles, DryRunTellsHowOftenRoundsAreTestedAndWhatThatCosts) {
  ASSERT_EQ(feroma_cli("init " + path("study")).exit_code, 0);
  const std::string dry = "run " + path("study.toml") + " --dry-run --out " + path("run");
  const auto said = [&](const std::string& every) {
    return feroma_cli(dry + " --set evaluation.every=" + every).output;
  };
  EXPECT_TRUE(contains(said("0"), "test accuracy      only in the end (evaluation.every = 0)\n")) << said("0");
  EXPECT_TRUE(contains(said("1"), "test accuracy      after every round, about ")) << said("1");
  EXPECT_TRUE(contains(said("20"), "test accuracy      after the last round, which costs nothing more\n"));
  const auto estimate = nlohmann::json::parse(feroma_cli(dry + " --format json").output);
  EXPECT_GE(estimate["test_every"], 1);
  EXPECT_LE(estimate["test_share"], 0.05);
}

TEST_F(CliFiles, DryRunRefusesAPlaceThatCanBeNoRun) {
  ASSERT_EQ(feroma_cli("init " + path("study")).exit_code, 0);
  const Result refused =
      feroma_cli("run " + path("study.toml") + " --dry-run --out " + path("study.toml"), Stream::err);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(contains(refused.output, "must be a new or empty folder or an earlier run")) << refused.output;
}

TEST(CliRun, DryRunCountsOnlyTheSampledOfAHundredThousandClients) {
  const Result result = feroma_cli("run " + source_file("configs/many-clients.toml").string() +
                                   " --dry-run --format json --set scenario.dataset=fmnist"
                                   " --set scenario.clients=100000 --set scenario.participation=0.0005");
  ASSERT_EQ(result.exit_code, 0);
  const auto estimate = nlohmann::json::parse(result.output);
  EXPECT_EQ(estimate["clients"], 100000);
  EXPECT_EQ(estimate["samples_per_client_round"], 1600);
  // Batches of 64, clients per round, rounds; a few clients have a batch more.
  EXPECT_NEAR(estimate["steps"].get<double>(), 25 * 50 * 6, 40);
}

TEST(CliRun, MistakesInTheNumberOfSamplesAndTestClientsAreLocated) {
  const Result result = feroma_cli("run " + source_file("configs/many-clients.toml").string() +
                                       " --dry-run --set scenario.dataset=fmnist"
                                       " --set scenario.samples_per_client=60001 --set scenario.test_clients=101",
                                   Stream::err);
  EXPECT_EQ(result.exit_code, 2);
  for (const char* part : {"scenario.samples_per_client must be in 0..60000, the dataset's training samples, got 60001",
                           "scenario.test_clients must be in 0..scenario.clients (100), got 101"}) {
    EXPECT_TRUE(contains(result.output, part)) << part << " is missing in:\n" << result.output;
  }
}

TEST_F(CliFiles, InitRefusesToOverwriteWithoutForce) {
  ASSERT_EQ(feroma_cli("init " + path("study")).exit_code, 0);
  std::ofstream(path("study.toml")) << "# mine\n";
  const Result refused = feroma_cli("init " + path("study"), Stream::err);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(contains(refused.output, "study.toml exists; --force replaces it")) << refused.output;
  EXPECT_EQ(text_of(path("study.toml")), "# mine\n");
  EXPECT_EQ(feroma_cli("init --force " + path("study")).exit_code, 0);
  EXPECT_TRUE(contains(text_of(path("study.toml")), "[scenario]"));
}

TEST_F(CliFiles, InitIntoAMissingFolderFailsAndNamesIt) {
  const Result result = feroma_cli("init " + path("missing/study"), Stream::err);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.output, "missing/study.toml")) << result.output;
}

TEST_F(CliFiles, InitWithoutAFileNameIsBadUsage) {
  const Result result = feroma_cli("init " + path("folder/"), Stream::err);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.output, "NAME must name a file")) << result.output;
}

}  // namespace
}  // namespace feroma
