// What `feroma list options` says of every key of every config file, and what is made from it.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "feroma/algorithms/registry.h"
#include "feroma/core/config_identity.h"
#include "feroma/runtime/experiment.h"
#include "tests/integration/known_keys.h"
#include "tests/places.h"

namespace feroma::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

SettingValue setting_of(const json& value) {
  if (value.is_boolean()) {
    return value.get<bool>();
  }
  if (value.is_number_integer()) {
    return value.get<std::int64_t>();
  }
  return value.is_number() ? SettingValue(value.get<double>()) : SettingValue(value.get<std::string>());
}

/// Every listed key of a scenario file with one method, set to its listed default.
Settings all_defaults(const KnownKeys& known, const std::string& method) {
  const std::string prefix = "algorithm." + method + ".";
  Settings settings;
  for (const json& row : known.rows()) {
    const std::string key = row["key"];
    const std::string table = key.substr(0, key.find('.'));
    if (key.starts_with(prefix)) {
      settings["algorithm.0." + key.substr(prefix.size())] = {setting_of(row["default"]), "listed"};
    } else if (table != "algorithm" && table != "server" && table != "dataset" && table != "sweep" &&
               !row["default"].is_null()) {
      settings[key] = {setting_of(row["default"]), "listed"};
    }
  }
  return settings;
}

TEST(ListOptions, EveryKeyHasATypeARangeAndAMeaning) {
  const KnownKeys known;
  ASSERT_TRUE(known.rows().is_array());
  ASSERT_GT(known.rows().size(), 300U);
  std::set<std::string> seen;
  for (const json& row : known.rows()) {
    const std::string key = row["key"];
    EXPECT_TRUE(seen.insert(key).second) << key << " is listed twice";
    EXPECT_EQ(row.size(), 5U) << row;
    EXPECT_TRUE(row.contains("default")) << row;
    EXPECT_FALSE(row["type"].get<std::string>().empty()) << row;
    EXPECT_FALSE(row["range"].get<std::string>().empty()) << row;
    EXPECT_GT(row["help"].get<std::string>().size(), 8U) << row;
  }
  for (const char* key : {"scenario.level", "membership.events", "training.learning_rate", "privacy.weights.sum",
                          "attack.kind", "algorithm.feroma.profile.encoder", "algorithm.feroma.retention.models",
                          "algorithm.fedprox.name", "server.quorum", "dataset.label_column", "sweep.seeds"}) {
    EXPECT_TRUE(known.has(key)) << key;
  }
}

TEST(ListOptions, AConfigWithEveryKeyAtItsDefaultIsTheShortOne) {
  const KnownKeys known;
  for (const AlgorithmEntry& method : known_algorithms()) {
    const Settings shortest{{"algorithm.0.name", {method.name, "short"}}};
    const Settings resolved = read_experiment(shortest).resolved();
    EXPECT_EQ(to_toml(read_experiment(all_defaults(known, method.name)).resolved()), to_toml(resolved)) << method.name;
    const SettingLists file = parse_setting_lists(to_toml(resolved), "config.toml");
    for (const auto& [key, setting] : resolved) {
      EXPECT_TRUE(known.in_scenario(key, file)) << key << " of " << method.name << "'s config.toml is not listed";
    }
  }
}

TEST(ListOptions, AConfigHasOnlyVersionsBeyondWhatIsListed) {
  const KnownKeys known;
  const Settings scaled{{"training.standardise", {true, "test"}}, {"algorithm.0.name", {"fedavg", "test"}}};
  const Settings resolved = read_experiment(scaled).resolved();
  const SettingLists file = parse_setting_lists(to_toml(resolved), "config.toml");
  const VersionedConfig config(resolved);
  EXPECT_TRUE(config.versions.contains("version.standardise"));
  for (const auto& [key, setting] : config.versions) {
    EXPECT_FALSE(known.in_scenario(key, file)) << key << " is written by the program alone";
  }
  for (const auto& [key, setting] : config.rest) {
    EXPECT_TRUE(known.in_scenario(key, file)) << key;
  }
}

TEST(ListOptions, EveryKeyOfTheConfigsIsListed) {
  const KnownKeys known;
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(source_file("configs"))) {
    if (entry.path().extension() != ".toml") {
      continue;
    }
    ++files;
    const SettingLists file = load_setting_lists(entry.path());
    for (const auto& [key, list] : file) {
      EXPECT_TRUE(known.in_file(key, file)) << list.where << ": " << key << " is not listed";
    }
  }
  EXPECT_GT(files, 50);
}

TEST_F(CliFiles, ADatasetFileMayHaveEveryListedKey) {
  const KnownKeys known;
  fs::create_directories(path("data"));
  std::ofstream file(path("data/dataset.toml"));
  for (const json& row : known.rows()) {
    if (const std::string key = row["key"]; key.starts_with("dataset.")) {
      file << key << " = " << row["default"] << "\n";
    }
  }
  file.close();
  const Result result = feroma_cli("data info " + path("data"), Stream::err);
  EXPECT_TRUE(contains(result.output, "dataset.inputs must be given for kind \"npy\"")) << result.output;
  EXPECT_FALSE(contains(result.output, "unknown key")) << result.output;
}

TEST_F(CliFiles, ASweepFileMayHaveEveryListedKey) {
  const std::string text =
      "sweep.name = 's'\nsweep.base = ['base.toml']\nsweep.seeds = [1]\nsweep.algorithms = ['fedavg']\n"
      "sweep.algorithms_from = 'base.toml'\naxes.scenario.level = ['low']\n"
      "[[variant]]\nname = 'v'\nalgorithms = ['fedavg']\nscenario.drifts = 2\n"
      "[[scenario]]\nname = 'own'\nbase = 'base.toml'\nalgorithms = ['fedavg']\nscenario.rounds = 6\n";
  const auto own = text.find("sweep.algorithms_from");
  const std::string with_methods =
      text.substr(0, own) + text.substr(text.find("axes")) + "[[algorithm]]\nname = 'fedavg'\n";
  std::ofstream(path("base.toml")) << "[[algorithm]]\nname = 'fedavg'\n";
  for (const std::string& sweep : {text, with_methods}) {
    std::ofstream(path("grid.toml")) << sweep;
    const Result result = feroma_cli("sweep " + path("grid.toml") + " --dry-run --out " + path("out"), Stream::err);
    EXPECT_EQ(result.exit_code, 0) << result.output;
  }
  std::set<std::string> listed;
  const KnownKeys known;
  for (const json& row : known.rows()) {
    const std::string key = row["key"];
    if (key.starts_with("sweep.") || key.starts_with("axes.") || contains(key, "[]")) {
      listed.insert(key);
    }
  }
  const std::set<std::string> tried{"sweep.name",
                                    "sweep.base",
                                    "sweep.seeds",
                                    "sweep.algorithms",
                                    "sweep.algorithms_from",
                                    "axes.KEY",
                                    "variant[].name",
                                    "variant[].algorithms",
                                    "variant[].KEY",
                                    "scenario[].name",
                                    "scenario[].base",
                                    "scenario[].algorithms",
                                    "scenario[].KEY",
                                    "algorithm[].KEY"};
  EXPECT_EQ(listed, tried);
}

TEST(ListOptions, NamesAreTablesMethodsOrKeys) {
  const auto keys_of = [](const std::string& names) {
    std::set<std::string> keys;
    for (const json& row : json::parse(feroma_cli("list options " + names + " --format json").output)) {
      keys.insert(row["key"]);
    }
    return keys;
  };
  EXPECT_TRUE(keys_of("server").contains("server.quorum"));
  EXPECT_FALSE(keys_of("server").contains("scenario.rounds"));
  EXPECT_EQ(keys_of("client"), keys_of("privacy"));
  EXPECT_TRUE(keys_of("fedprox").contains("algorithm.fedprox.mu"));
  EXPECT_TRUE(keys_of("training fedprox").contains("training.batch_size"));
  EXPECT_TRUE(keys_of("learning_rate").contains("training.learning_rate"));
  EXPECT_EQ(keys_of("scenario.level"), std::set<std::string>{"scenario.level"});
  for (const std::string& key : keys_of("profile")) {
    EXPECT_TRUE(contains(key, ".profile.")) << key;
  }
}

TEST(ListOptions, AnUnknownNameSuggestsTheNearest) {
  const Result method = feroma_cli("list options ferroma", Stream::err);
  EXPECT_EQ(method.exit_code, 2);
  EXPECT_TRUE(contains(method.output, "did you mean \"feroma\"?")) << method.output;
  const Result key = feroma_cli("list options lr", Stream::err);
  EXPECT_EQ(key.exit_code, 2);
  EXPECT_TRUE(contains(key.output, "did you mean \"learning_rate\"?")) << key.output;
  const Result nothing = feroma_cli("list options qqqqqqqqqq", Stream::err);
  EXPECT_TRUE(contains(nothing.output, "tables are scenario membership")) << nothing.output;
}

TEST(ListOptions, TextFitsATerminalOfAHundredColumns) {
  std::istringstream lines(feroma_cli("list options").output);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
  }
  const std::string text = feroma_cli("list options training").output;
  EXPECT_TRUE(contains(text, fmt::format("{:<36}number > 0\n", "learning_rate = 0.005"))) << text;
}

TEST(Parameters, ThePageIsWhatTheProgramSays) {
  EXPECT_EQ(feroma_cli("list options --format markdown").output, text_of(source_file("docs/parameters.md").string()))
      << "write it anew: feroma list options --format markdown > docs/parameters.md";
}

std::string resolved_text(const std::string& file) { return to_toml(read_experiment(load_settings(file)).resolved()); }

/// "rounds" of "rounds = 20" and "# rounds = 20"; empty for any other line of a config file.
std::string written_key(const std::string& line) {
  static const std::regex kSetting("(?:# )?([a-z0-9_.]+) = .*");
  std::smatch setting;
  return std::regex_match(line, setting, kSetting) ? setting[1].str() : "";
}

TEST_F(CliFiles, InitFullIsTheShortFileWithEveryKey) {
  ASSERT_EQ(feroma_cli("init " + path("short")).exit_code, 0);
  ASSERT_EQ(feroma_cli("init --full " + path("full")).exit_code, 0);
  EXPECT_EQ(resolved_text(path("full.toml")), resolved_text(path("short.toml")));
  std::multiset<std::string> listed;
  const KnownKeys known;
  for (const json& row : known.rows()) {
    const std::string key = row["key"];
    const bool of_other_file =
        key.starts_with("dataset.") || key.starts_with("sweep.") || key.starts_with("axes.") || contains(key, "[]");
    const bool of_method = key.starts_with("algorithm.");
    if (!of_other_file) {
      listed.insert(key.substr(key.find('.', of_method ? std::string("algorithm.").size() : 0) + 1));
    }
  }
  std::multiset<std::string> written;
  std::istringstream lines(text_of(path("full.toml")));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
    if (const std::string key = written_key(line); !key.empty()) {
      written.insert(key);
    }
  }
  EXPECT_EQ(written, listed);
}

/// The file with every commented setting taken into use, in those tables that are in use.
std::string taken_into_use(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  bool in_use = true;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("[") || line.starts_with("# [")) {
      in_use = line.starts_with("[");
    }
    const bool is_left_out = in_use && line.starts_with("# ") && !written_key(line).empty();
    out += (is_left_out ? line.substr(2) : line) + "\n";
  }
  return out;
}

TEST_F(CliFiles, EveryLineOfInitFullMayBeTakenIntoUse) {
  ASSERT_EQ(feroma_cli("init --full " + path("full")).exit_code, 0);
  const std::string all = taken_into_use(text_of(path("full.toml")));
  EXPECT_GT(parse_settings(all, "all").size(), load_settings(path("full.toml")).size() + 50);
  std::ofstream(path("all.toml")) << all;
  EXPECT_EQ(resolved_text(path("all.toml")), resolved_text(path("full.toml")));
}

}  // namespace
}  // namespace feroma::test
