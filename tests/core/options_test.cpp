#include "feroma/core/options.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/core/expect_error.h"

namespace feroma {
namespace {

using test::error_of;
using test::holds;

enum class Fruit { apple, pear };
constexpr auto enum_names(Fruit) {
  return std::array<std::pair<Fruit, std::string_view>, 3>{
      {{Fruit::apple, "apple"}, {Fruit::pear, "pear"}, {Fruit::apple, "P(A)"}}};
}

struct Sample {
  bool fast = false;
  int clients = 20;
  std::int64_t seed = 1;
  double share = 0.5;
  double rate = 0.1;
  std::string dataset = "mnist";
  Fruit fruit = Fruit::pear;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("fast", self.fast, anything(), "a flag");
    visit("clients", self.clients, at_least(1), "a count");
    visit("seed", self.seed, at_least(0), "a wide count");
    visit("share", self.share, between(0, 1), "a fraction");
    visit("rate", self.rate, above(0), "a positive number");
    visit("dataset", self.dataset, anything(), "a name");
    visit("fruit", self.fruit, anything(), "a choice");
  }
};

Setting setting(SettingValue value) { return {std::move(value), "a.toml:3"}; }

/// Everything that is wrong with one value of one key.
std::vector<std::string> problems_of(const std::string& key, SettingValue value) {
  Problems problems;
  Sample sample;
  SettingsReader reader({{key, setting(std::move(value))}}, problems);
  reader.read(sample, "scenario");
  reader.reject_unknown();
  return problems.messages();
}

std::vector<std::string> one(std::string text) { return {std::move(text)}; }

TEST(Options, ReadEveryType) {
  Problems problems;
  Sample sample;
  SettingsReader reader({{"scenario.fast", setting(true)},
                         {"scenario.clients", setting(std::int64_t{7})},
                         {"scenario.seed", setting(std::int64_t{1} << 40)},
                         {"scenario.share", setting(std::int64_t{1})},
                         {"scenario.dataset", setting(std::string("fmnist"))},
                         {"scenario.fruit", setting(std::string("P(A)"))}},
                        problems);
  reader.read(sample, "scenario");
  reader.reject_unknown();
  problems.raise();
  EXPECT_TRUE(sample.fast);
  EXPECT_EQ(sample.clients, 7);
  EXPECT_EQ(sample.seed, std::int64_t{1} << 40);
  EXPECT_EQ(sample.share, 1.0);
  EXPECT_EQ(sample.rate, 0.1);
  EXPECT_EQ(sample.dataset, "fmnist");
  EXPECT_EQ(sample.fruit, Fruit::apple);
}

TEST(Options, WrongTypesNameBothTypesAndTheValue) {
  EXPECT_EQ(problems_of("scenario.clients", 20.0),
            one("a.toml:3: scenario.clients must be an integer, got a number (20.0)"));
  EXPECT_EQ(problems_of("scenario.clients", std::string("20")),
            one("a.toml:3: scenario.clients must be an integer, got a string (\"20\")"));
  EXPECT_EQ(problems_of("scenario.fast", std::int64_t{1}),
            one("a.toml:3: scenario.fast must be a boolean, got an integer (1)"));
  EXPECT_EQ(problems_of("scenario.share", true),
            one("a.toml:3: scenario.share must be a number, got a boolean (true)"));
  EXPECT_EQ(problems_of("scenario.dataset", false),
            one("a.toml:3: scenario.dataset must be a string, got a boolean (false)"));
}

TEST(Options, OutOfRangeNamesTheRule) {
  EXPECT_EQ(problems_of("scenario.clients", std::int64_t{0}), one("a.toml:3: scenario.clients must be >= 1, got 0"));
  EXPECT_EQ(problems_of("scenario.share", 1.5), one("a.toml:3: scenario.share must be in 0..1, got 1.5"));
  EXPECT_EQ(problems_of("scenario.rate", std::int64_t{0}), one("a.toml:3: scenario.rate must be > 0, got 0"));
  EXPECT_EQ(problems_of("scenario.clients", std::int64_t{1} << 31),
            one("a.toml:3: scenario.clients must fit in 32 bits, got 2147483648"));
}

TEST(Options, NotANumberAndInfinityBreakEveryRule) {
  EXPECT_EQ(problems_of("scenario.share", std::numeric_limits<double>::quiet_NaN()),
            one("a.toml:3: scenario.share must be in 0..1, got nan"));
  EXPECT_EQ(problems_of("scenario.rate", std::numeric_limits<double>::infinity()),
            one("a.toml:3: scenario.rate must be > 0, got inf"));
  EXPECT_FALSE(anything().allows(std::numeric_limits<double>::quiet_NaN()));
}

TEST(Options, ABrokenValueLeavesTheDefault) {
  Problems problems;
  Sample sample;
  SettingsReader reader({{"scenario.clients", setting(std::int64_t{0})}}, problems);
  reader.read(sample, "scenario");
  EXPECT_EQ(sample.clients, 20);
}

TEST(Options, UnknownChoicesListTheKnownOnesAndTheNearest) {
  EXPECT_EQ(problems_of("scenario.fruit", std::string("pera")),
            one("a.toml:3: scenario.fruit must be one of apple, pear, P(A), got \"pera\"; did you mean \"pear\"?"));
  EXPECT_EQ(problems_of("scenario.fruit", std::int64_t{3}),
            one("a.toml:3: scenario.fruit must be one of apple, pear, P(A), got 3"));
}

TEST(Options, UnknownKeysSuggestTheNearestOne) {
  EXPECT_EQ(problems_of("scenario.client", std::int64_t{3}),
            one("a.toml:3: unknown key scenario.client; did you mean scenario.clients?"));
  EXPECT_EQ(problems_of("training.dataset", std::string("x")),
            one("a.toml:3: unknown key training.dataset; did you mean scenario.dataset?"));
  EXPECT_EQ(problems_of("scenario.temperature", 1.0), one("a.toml:3: unknown key scenario.temperature"));
}

TEST(Options, NamesOfOtherToolsAreUnderstoodInHints) {
  EXPECT_EQ(problems_of("scenario.num_clients", std::int64_t{3}),
            one("a.toml:3: unknown key scenario.num_clients; did you mean scenario.clients?"));
  EXPECT_EQ(problems_of("num_supernodes", std::int64_t{3}),
            one("a.toml:3: unknown key num_supernodes; did you mean scenario.clients?"));
}

TEST(Options, EveryProblemIsReportedAtOnce) {
  Problems problems;
  Sample sample;
  SettingsReader reader({{"scenario.clients", setting(std::int64_t{0})},
                         {"scenario.share", setting(std::string("all"))},
                         {"scenario.sead", setting(std::int64_t{1})}},
                        problems);
  reader.read(sample, "scenario");
  reader.reject_unknown();
  EXPECT_EQ(error_of(ErrorCode::invalid_config, [&] { problems.raise(); }),
            "a.toml:3: scenario.clients must be >= 1, got 0\n"
            "a.toml:3: scenario.share must be a number, got a string (\"all\")\n"
            "a.toml:3: unknown key scenario.sead; did you mean scenario.seed?");
}

TEST(NearestName, PrefersTheSameTable) {
  const std::vector<std::string> names{"algorithm.0.seed", "training.seed", "zeta.seed"};
  EXPECT_EQ(nearest_name("training.seeds", names), "training.seed");
  EXPECT_EQ(nearest_name("zeta.seeds", names), "zeta.seed");
}

TEST(NearestName, ShortNamesMustShareSomething) {
  const std::vector<std::string> names{"training.mu"};
  EXPECT_EQ(nearest_name("training.k", names), "");
  EXPECT_EQ(nearest_name("training.ab", names), "");
  EXPECT_EQ(nearest_name("training.mv", names), "training.mu");
}

TEST(NearestName, IsEmptyWithoutCandidates) { EXPECT_EQ(nearest_name("x", {}), ""); }

TEST(Options, AReaderTellsWhatItReadWithTheDefaults) {
  Problems problems;
  Sample sample;
  SettingsReader reader({{"scenario.clients", setting(std::int64_t{7})}}, problems);
  reader.read(sample, "scenario");
  ASSERT_EQ(reader.options().size(), 7U);
  const OptionInfo& clients = reader.options()[1];
  EXPECT_EQ(clients.key, "scenario.clients");
  EXPECT_EQ(clients.type, "integer");
  EXPECT_EQ(clients.value, SettingValue(std::int64_t{20}));
  EXPECT_EQ(clients.range, ">= 1");
  EXPECT_EQ(clients.help, "a count");
}

TEST(Options, RangesAreRulesOrChoices) {
  std::vector<std::string> ranges;
  for (const OptionInfo& option : describe_options<Sample>("x")) {
    ranges.push_back(option.type + " " + option.range);
  }
  EXPECT_EQ(ranges, (std::vector<std::string>{"boolean true | false", "integer >= 1", "integer >= 0", "number in 0..1",
                                              "number > 0", "string text", "choice apple P(A) | pear"}));
}

TEST(Options, TablesAreCountedUpToTheFirstGap) {
  Problems problems;
  const SettingsReader reader({{"algorithm.0.name", setting(true)},
                               {"algorithm.1.name", setting(true)},
                               {"algorithm.10.name", setting(true)},
                               {"algorithmic.2.name", setting(true)}},
                              problems);
  EXPECT_EQ(reader.table_count("algorithm"), 2);
  EXPECT_EQ(reader.table_count("nothing"), 0);
}

TEST(Options, WriteEveryFieldAndReadItBack) {
  Sample sample;
  sample.clients = 3;
  sample.share = 0.1;
  sample.fruit = Fruit::apple;
  Settings settings;
  write_settings(sample, "scenario", settings);
  EXPECT_EQ(settings.size(), 7U);
  EXPECT_EQ(std::get<std::string>(settings.at("scenario.fruit").value), "apple");
  EXPECT_EQ(std::get<std::int64_t>(settings.at("scenario.clients").value), 3);
  EXPECT_EQ(settings.at("scenario.clients").where, "resolved");

  Problems problems;
  Sample again;
  SettingsReader reader(settings, problems);
  reader.read(again, "scenario");
  reader.reject_unknown();
  problems.raise();
  EXPECT_EQ(again.clients, 3);
  EXPECT_EQ(again.share, 0.1);
  EXPECT_EQ(again.fruit, Fruit::apple);
}

}  // namespace
}  // namespace feroma
