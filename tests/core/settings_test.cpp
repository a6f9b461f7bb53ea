#include "feroma/core/settings.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "feroma/core/files.h"
#include "feroma/core/setting_lists.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"

namespace feroma {
namespace {

using test::error_of;
using test::holds;

std::string refusal(std::string_view text) {
  return error_of(ErrorCode::invalid_config, [&] { (void)parse_settings(text, "a.toml"); });
}

std::map<std::string, SettingValue> values_of(const Settings& settings) {
  std::map<std::string, SettingValue> values;
  for (const auto& [key, setting] : settings) {
    values[key] = setting.value;
  }
  return values;
}

SettingValue overridden(const std::string& assignment) {
  Settings settings;
  apply_override(settings, assignment);
  EXPECT_EQ(settings.size(), 1U);
  return settings.at("k").value;
}

std::string override_refusal(const std::string& assignment) {
  Settings settings;
  return error_of(ErrorCode::invalid_config, [&] { apply_override(settings, assignment); });
}

TEST(Settings, FlattenTablesAndArraysOfTables) {
  const Settings settings = parse_settings(
      "[scenario]\nclients = 20\nparticipation = 0.5\n\n[[algorithm]]\nname = \"feroma\"\nprofile.encoder = "
      "\"warmup\"\n"
      "[[algorithm]]\nname = 'fedavg'\nfast = true\n",
      "a.toml");
  const std::map<std::string, SettingValue> expected{
      {"scenario.clients", std::int64_t{20}},      {"scenario.participation", 0.5},
      {"algorithm.0.name", std::string("feroma")}, {"algorithm.0.profile.encoder", std::string("warmup")},
      {"algorithm.1.name", std::string("fedavg")}, {"algorithm.1.fast", true}};
  EXPECT_EQ(values_of(settings), expected);
  EXPECT_EQ(settings.at("algorithm.1.name").where, "a.toml:9");
}

TEST(Settings, BadTomlNamesTheLine) {
  EXPECT_TRUE(holds(refusal("a = 1\nb = = 2\n"), "a.toml:2: not valid TOML: "));
  EXPECT_TRUE(holds(refusal("[scenario\n"), "a.toml:1: not valid TOML: "));
  EXPECT_TRUE(holds(refusal("a = 1\n\nb = \"\xff\"\n"), "a.toml:3: not valid TOML: "));
  EXPECT_TRUE(holds(refusal("a = 99999999999999999999"), "a.toml:1: not valid TOML: "));
}

// toml++ has undefined behaviour on some of these if left alone; sanitizers see it.
TEST(Settings, CharactersOutsideAsciiBelongInQuotesOrComments) {
  EXPECT_TRUE(holds(refusal("[t]\nx\u048c = 1\n"), "a.toml:2: not valid TOML: "));
  EXPECT_TRUE(holds(refusal("x = 'a'\ufedf"), "a.toml:1: not valid TOML: "));
  EXPECT_TRUE(holds(refusal("x = \"\\\ufedf\""), "a.toml:1: not valid TOML: "));
  const Settings settings = parse_settings("# caf\u00e9\na = \"\u048c\"\nb = \"\"\"a\\\n \ufedf\"\"\"\n", "a.toml");
  EXPECT_EQ(std::get<std::string>(settings.at("b").value), "a\ufedf");
}

TEST(Settings, DuplicateKeysAreErrors) {
  EXPECT_TRUE(holds(refusal("[scenario]\nseed = 1\nseed = 2\n"), "a.toml:3: not valid TOML: "));
  EXPECT_TRUE(holds(refusal("[scenario]\nseed = 1\n[scenario]\nx = 2\n"), "a.toml:3: not valid TOML: "));
}

TEST(Settings, AQuotedKeyCannotPassForAnotherOne) {
  EXPECT_EQ(refusal("[scenario]\nseed = 1\n\"a.b\" = 2\n"),
            "a.toml:3: a key must be made of letters, digits, _ and -, got scenario.\"a.b\"");
  EXPECT_TRUE(holds(refusal("\"\" = 2\n"), "a.toml:1: a key must be made of letters"));
}

TEST(Settings, ListsAndDatesAreErrorsWithTheLine) {
  EXPECT_EQ(refusal("a = 1\nb = [1, 2]\n"), "a.toml:2: b must be one value, got a list of 2");
  EXPECT_EQ(refusal("b = [[1], [2]]\n"), "a.toml:1: b must be one value, got a list of 2");
  EXPECT_EQ(refusal("b = []\n"), "a.toml:1: b must be one value, got a list of 0");
  EXPECT_EQ(refusal("[t]\nb = 2024-01-01\n"), "a.toml:2: t.b must be a boolean, number or string, got a date or time");
  EXPECT_EQ(refusal("b = 10:00:00\n"), "a.toml:1: b must be a boolean, number or string, got a date or time");
}

TEST(Settings, DeepNestingIsRefused) {
  EXPECT_TRUE(holds(refusal("a = " + std::string(100000, '[')), "a.toml:1: not valid TOML: "));
}

TEST(Settings, AMissingFileIsNamed) {
  EXPECT_EQ(error_of(ErrorCode::invalid_config, [] { (void)load_settings("/nowhere/a.toml"); }),
            "/nowhere/a.toml: there is no such config file");
  EXPECT_EQ(error_of(ErrorCode::invalid_config, [] { (void)load_settings("/tmp"); }),
            "/tmp: is a folder, not a config file");
}

TEST(Settings, AMissingQuoteIsCalledThat) {
  EXPECT_EQ(refusal("[scenario]\ndataset = \"fmnist\nrounds = 3\n"),
            "a.toml:2: not valid TOML: a text must end on the line on which it begins; is a quote missing?");
}

TEST(Settings, LoadReadsTheFile) {
  const test::TempFolder folder;
  write_file_atomically(folder / "a.toml", std::string_view("x = 1\n"));
  const Settings settings = load_settings(folder / "a.toml");
  EXPECT_EQ(std::get<std::int64_t>(settings.at("x").value), 1);
  EXPECT_EQ(settings.at("x").where, (folder / "a.toml").string() + ":1");
}

TEST(Changes, NamesKeysWithOldAndNewValues) {
  const auto between = [](std::string_view before, std::string_view now) {
    return changes_between(parse_settings(before, "before.toml"), parse_settings(now, "now.toml"));
  };
  EXPECT_EQ(between("[scenario]\nrounds = 5\n", "\nscenario.rounds = 5\n"), "") << "where it is written is no change";
  EXPECT_EQ(between("a = nan\nb = 0.1\n", "b = 0.1\na = nan\n"), "");
  EXPECT_EQ(between("[scenario]\nrounds = 5\n", "[scenario]\nrounds = 6\n"), "scenario.rounds was 5, is 6");
  EXPECT_EQ(between("a = 1\nc = 'x'\n", "a = 1.0\nb = true\n"), "a was 1, is 1.0; b = true is new; c = \"x\" is gone");
  EXPECT_EQ(between("a = 1\nb = 1\nc = 1\nd = 1\ne = 1\n", "a = 2\nb = 2\nc = 2\nd = 2\n"),
            "a was 1, is 2; b was 1, is 2; c was 1, is 2 and 2 more");
}

TEST(Override, ReadsTomlValuesAndPlainWords) {
  EXPECT_EQ(overridden("k=5"), SettingValue(std::int64_t{5}));
  EXPECT_EQ(overridden("k=1e-3"), SettingValue(1e-3));
  EXPECT_EQ(overridden("k=true"), SettingValue(true));
  EXPECT_EQ(overridden("k=\"5\""), SettingValue(std::string("5")));
  EXPECT_EQ(overridden("k=low"), SettingValue(std::string("low")));
  EXPECT_EQ(overridden("k=P(Y|X)"), SettingValue(std::string("P(Y|X)")));
  EXPECT_EQ(overridden("k=a=b"), SettingValue(std::string("a=b")));
  EXPECT_EQ(overridden("k=/data/my \"set\""), SettingValue(std::string("/data/my \"set\"")));
  EXPECT_EQ(overridden("k="), SettingValue(std::string()));
  EXPECT_EQ(overridden(" k = low "), SettingValue(std::string("low")));
}

TEST(Override, ReadsWordsOutsideAsciiAsText) {
  Settings settings;
  apply_override(settings, "scenario.dataset=donn\u00e9es");
  EXPECT_EQ(std::get<std::string>(settings.at("scenario.dataset").value), "donn\u00e9es");
}

TEST(Override, ReplacesTheValueAndSaysWhereItCameFrom) {
  Settings settings = parse_settings("[[algorithm]]\npreset = \"auto\"\n", "a.toml");
  apply_override(settings, "algorithm.0.preset=paper");
  EXPECT_EQ(std::get<std::string>(settings.at("algorithm.0.preset").value), "paper");
  EXPECT_EQ(settings.at("algorithm.0.preset").where, "--set");
  EXPECT_EQ(settings.size(), 1U);
}

TEST(Override, RefusesWhatIsNotOneAssignment) {
  EXPECT_EQ(override_refusal("clients"), "--set must be key=value, got \"clients\"");
  EXPECT_EQ(override_refusal("=5"), "--set must be key=value, got \"=5\"");
  EXPECT_EQ(override_refusal("k=[1, 2]"), "--set k must be one boolean, number or string, got [1, 2]");
  EXPECT_EQ(override_refusal("k={a = 1}"), "--set k must be one boolean, number or string, got {a = 1}");
  EXPECT_EQ(override_refusal("k={}"), "--set k must be one boolean, number or string, got {}");
  EXPECT_EQ(override_refusal("k=2024-01-01"), "--set k must be one boolean, number or string, got 2024-01-01");
  EXPECT_EQ(override_refusal("k=1\nother = 2"), "--set k must be one boolean, number or string, got 1\nother = 2");
  EXPECT_TRUE(holds(override_refusal("k=\xff"), "--set k: not a valid value: "));
  EXPECT_EQ(override_refusal("k=-99999999999999999999"),
            "--set k: a whole number must fit into 64 bits, got -99999999999999999999");
}

TEST(ToToml, WritesTablesInOrderAndReadsBack) {
  Settings settings;
  settings["version"] = {std::int64_t{1}, ""};
  settings["scenario.clients"] = {std::int64_t{20}, ""};
  settings["scenario.share"] = {1.0, ""};
  settings["algorithm.0.profile.encoder"] = {std::string("warmup"), ""};
  settings["algorithm.0.name"] = {std::string("feroma"), ""};
  EXPECT_EQ(to_toml(settings),
            "version = 1\n\n[[algorithm]]\nname = \"feroma\"\nprofile.encoder = \"warmup\"\n\n"
            "[scenario]\nclients = 20\nshare = 1.0\n");
}

TEST(ToToml, KeepsTheOrderOfMoreThanTenTables) {
  Settings settings;
  for (int i = 0; i < 12; ++i) {
    settings["algorithm." + std::to_string(i) + ".seed"] = {std::int64_t{i}, ""};
  }
  EXPECT_EQ(values_of(parse_settings(to_toml(settings), "a.toml")), values_of(settings));
}

TEST(ToToml, KeepsSpecialNumbers) {
  Settings settings;
  settings["t.big"] = {1e300, ""};
  settings["t.tiny"] = {5e-324, ""};
  settings["t.whole"] = {-3.0, ""};
  settings["t.infinite"] = {-std::numeric_limits<double>::infinity(), ""};
  settings["t.least"] = {std::numeric_limits<std::int64_t>::min(), ""};
  EXPECT_EQ(values_of(parse_settings(to_toml(settings), "a.toml")), values_of(settings));
  settings["t.none"] = {std::numeric_limits<double>::quiet_NaN(), ""};
  EXPECT_TRUE(std::isnan(std::get<double>(parse_settings(to_toml(settings), "a.toml").at("t.none").value)));
}

TEST(ToToml, EscapesEveryCharacterOfAString) {
  Settings settings;
  std::string ascii;
  for (char c = 1; c < 127; ++c) {
    ascii += c;
  }
  settings["t.ascii"] = {ascii + '\x7f', ""};
  settings["t.lines"] = {std::string("\n\"\"\"\r\n'''\\"), ""};
  settings["t.unicode"] = {std::string("Zürich 日本 ±"), ""};
  EXPECT_EQ(values_of(parse_settings(to_toml(settings), "a.toml")), values_of(settings));
}

RC_GTEST_PROP(ToToml, RoundTripsAnyNumber, (double number, std::int64_t integer, bool flag)) {
  Settings settings;
  settings["a.number"] = {number, ""};
  settings["a.integer"] = {integer, ""};
  settings["b.0.flag"] = {flag, ""};
  settings["b.1.flag"] = {!flag, ""};
  RC_ASSERT(values_of(parse_settings(to_toml(settings), "a.toml")) == values_of(settings));
}

SettingLists lists(const std::string& text) { return parse_setting_lists(text, "a.toml"); }

TEST(SettingLists, HoldSingleValuesAndListsOfThem) {
  const SettingLists read = lists("[sweep]\nseeds = [42, 43]\nname = 'x'\n[axes]\nscenario.level = ['low', 'high']\n");
  EXPECT_EQ(read.at("sweep.seeds").values, (std::vector<SettingValue>{std::int64_t{42}, std::int64_t{43}}));
  EXPECT_FALSE(read.at("sweep.seeds").single);
  EXPECT_EQ(read.at("sweep.seeds").where, "a.toml:2");
  EXPECT_TRUE(read.at("sweep.name").single);
  EXPECT_EQ(read.at("axes.scenario.level").values.size(), 2U);
  EXPECT_TRUE(lists("b = []\n").at("b").values.empty());
}

TEST(SettingLists, AQuotedKeyMayHoldDotsAndIsTheSameKey) {
  EXPECT_TRUE(lists("[axes]\n'scenario.level' = 'low'\n").contains("axes.scenario.level"));
  const auto refusal_of = [](const std::string& text) {
    return error_of(ErrorCode::invalid_config, [&] { static_cast<void>(lists(text)); });
  };
  EXPECT_TRUE(holds(refusal_of("[axes]\n'a.b' = 1\na.b = 2\n"), "a.b is set before, at a.toml:"));
  EXPECT_TRUE(holds(refusal_of("'a..b' = 1\n"), "a key must be made of letters"));
  EXPECT_TRUE(holds(refusal_of("'.a' = 1\n"), "a key must be made of letters"));
  EXPECT_TRUE(holds(refusal_of("b = [1, [2]]\n"), "a.toml:1: b must be a list of booleans, numbers or strings"));
  EXPECT_TRUE(holds(refusal_of("b = [2020-01-01]\n"), "must be a boolean, number or string, got a date or time"));
}

}  // namespace
}  // namespace feroma
