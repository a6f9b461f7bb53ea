#include "feroma/core/config_identity.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "feroma/core/options.h"
#include "tests/core/expect_error.h"

namespace feroma {
namespace {

using test::holds;

constexpr const char* kKept = R"(
[evaluation]
clients = 3
[training]
model = "mlp"
standardise = true
[[algorithm]]
name = "fedavg"
step = 0.5
[[algorithm]]
name = "fedprox"
mu = 0.5
)";

/// What might have happened to the program since.
const ConfigIdentity kLater{
    .later = {{"evaluation.every", std::int64_t{0}, /*only_observes=*/true},
              {"training.decay", 0.0},
              {"algorithm.*.rule", std::string("mean")}},
    .retired = {{"server.clock", "leave it out"},
                {"training.shuffle", "it always does", true},
                {"algorithm.*.mu", "it is 0.5", 0.5, {{"algorithm.*.name", std::string("fedprox")}}}},
    .versions = {{"standardise", 2, {{"training.standardise", true}}},
                 {"fedprox", 3, {{"algorithm.*.name", std::string("fedprox")}}}},
};

Settings settings(const std::string& text) { return parse_settings(text, "kept"); }

Settings with(Settings config, const std::vector<std::string>& assignments) {
  for (const std::string& assignment : assignments) {
    apply_override(config, assignment);
  }
  return config;
}

Settings without(Settings config, const std::string& key) {
  config.erase(key);
  return config;
}

std::string text_of(const ConfigIdentity& identity, const Settings& config) { return to_toml(identity.of(config)); }

TEST(ConfigIdentity, AKeyThatCameLaterCountsOnlyWhereItsValueIsAnother) {
  const Settings kept = settings(kKept);
  const std::string before = text_of(kLater, kept);
  for (const char* same :
       {"evaluation.every = 0", "evaluation.every = 5", "training.decay = 0.0", "algorithm.1.rule = 'mean'"}) {
    EXPECT_EQ(text_of(kLater, with(kept, {same})), before) << same;
  }
  for (const char* other : {"training.decay = 0.1", "algorithm.1.rule = 'median'"}) {
    EXPECT_NE(text_of(kLater, with(kept, {other})), before) << other;
  }
}

TEST(ConfigIdentity, AKeyThatIsGoneCountsAsWhatTheCodeStillDoes) {
  const Settings kept = with(settings(kKept), {"training.shuffle = true"});
  EXPECT_EQ(text_of(kLater, kept), to_toml(kept)) << "a kept config is not changed";
  EXPECT_EQ(text_of(kLater, without(kept, "training.shuffle")), to_toml(kept));
  EXPECT_EQ(text_of(kLater, without(kept, "algorithm.1.mu")), to_toml(kept));
  EXPECT_EQ(kLater.changes(with(kept, {"algorithm.1.mu = 0.9"}), without(kept, "algorithm.1.mu")),
            "fedprox was in version 1, is in version 3; standardise was in version 1, is in version 2: begin anew");
  ConfigIdentity keys_only = kLater;
  keys_only.versions.clear();
  EXPECT_EQ(keys_only.changes(with(kept, {"algorithm.1.mu = 0.9"}), without(kept, "algorithm.1.mu")),
            "algorithm.1.mu was 0.9, is 0.5");
}

TEST(ConfigIdentity, BehaviourThatChangedWithoutAKeyHasAVersion) {
  const Settings kept = settings(kKept);
  const Settings now = kLater.with_versions(kept);
  EXPECT_EQ(to_string(now.at("version.standardise").value), "2");
  EXPECT_EQ(to_string(now.at("algorithm.1.version.fedprox").value), "3");
  EXPECT_EQ(now.size(), kept.size() + 2) << "fedavg is as it was";
  EXPECT_NE(text_of(kLater, now), text_of(kLater, kept));
  EXPECT_EQ(kLater.changed_methods(kept),
            "fedprox was in version 1, is in version 3; standardise was in version 1, is in version 2: begin anew");
  EXPECT_EQ(kLater.changed_methods(now), "");
  EXPECT_EQ(kLater.changes(now, now), "");
  EXPECT_EQ(ConfigIdentity().changed_methods(now),
            "fedprox was in version 3, is in version 1; standardise was in version 2, is in version 1: begin anew")
      << "an earlier program";
  const Settings plain =
      with(without(without(kept, "algorithm.1.name"), "algorithm.1.mu"), {"training.standardise = false"});
  EXPECT_EQ(kLater.changed_methods(plain), "") << "where nothing of it is used, nothing has changed";
  EXPECT_EQ(to_toml(parse_settings(to_toml(now), "again")), to_toml(now)) << "a config keeps its versions";
}

TEST(ConfigIdentity, AVersionMayHangOnAKeyThatCameLater) {
  const ConfigIdentity identity{
      .later = {{"training.decay", 0.0}}, .retired = {}, .versions = {{"decay", 2, {{"training.decay", 0.0}}}}};
  EXPECT_NE(identity.changed_methods(settings(kKept)), "") << "what was kept did what 0.0 means";
  EXPECT_EQ(identity.changed_methods(with(settings(kKept), {"training.decay = 0.1"})), "");
}

TEST(ConfigIdentity, GoesOnAsItWasBegunUnlessSomebodySaysOtherwise) {
  const Settings kept = settings(kKept);
  const Settings resolved = with(kept, {"evaluation.every = 5", "training.decay = 0.1", "algorithm.0.rule = 'median'"});
  EXPECT_EQ(kLater.changes(kept, kLater.as_begun(resolved, {}, kept)), kLater.changed_methods(kept));
  ConfigIdentity keys_only = kLater;
  keys_only.versions.clear();
  EXPECT_EQ(keys_only.changes(kept, keys_only.as_begun(resolved, {}, kept)), "") << "only defaults have changed";
  const Settings written = with({}, {"training.decay = 0.1"});
  EXPECT_EQ(keys_only.changes(kept, keys_only.as_begun(resolved, written, kept)), "training.decay = 0.1 is new");
  EXPECT_EQ(keys_only.changes(
                with(kept, {"training.decay = 0.1"}),
                keys_only.as_begun(without(resolved, "evaluation.every"), {}, with(kept, {"training.decay = 0.1"}))),
            "")
      << "what was kept with a key keeps its value";
}

TEST(ConfigIdentity, AKeptConfigIsReadWithoutWhatIsGone) {
  const Settings kept = with(kLater.with_versions(settings(kKept)), {"training.shuffle = true", "server.clock = 1"});
  EXPECT_EQ(to_toml(kLater.readable(kept)), to_toml(without(settings(kKept), "algorithm.1.mu")));
  EXPECT_TRUE(kLater.going_on(with({}, {"training.shuffle = true"}), kept).empty()) << "the kept config says it itself";
  EXPECT_FALSE(kLater.going_on(with({}, {"training.shuffle = true"}), {}).empty());
  ASSERT_NE(kLater.find_retired("server.clock"), nullptr);
  EXPECT_EQ(kLater.find_retired("server.clock")->hint, "leave it out");
  EXPECT_EQ(kLater.find_retired("server.clocks"), nullptr);
  EXPECT_NE(kLater.find_retired("algorithm.12.mu"), nullptr);
  EXPECT_EQ(kLater.find_retired("mu"), nullptr);
}

TEST(ConfigIdentity, TellsReportsWhatAMissingKeyMeans) {
  const Settings kept = kLater.spelled_out(settings(kKept));
  EXPECT_EQ(to_string(kept.at("training.decay").value), "0.0");
  EXPECT_EQ(to_string(kept.at("training.shuffle").value), "true");
  EXPECT_EQ(to_string(kLater.spelled_out(with({}, {"training.decay = 0.1"})).at("training.decay").value), "0.1");
  EXPECT_FALSE(kept.contains("algorithm.0.rule"));
  EXPECT_TRUE(kLater.differs_by("algorithm.0.rule", std::string("median")));
  EXPECT_FALSE(kLater.differs_by("algorithm.0.rule", std::string("mean")));
  EXPECT_TRUE(kLater.differs_by("algorithm.0.version.fedavg", std::int64_t{2}));
  EXPECT_FALSE(kLater.differs_by("training.model", std::string("lenet5"))) << "nobody knows";
  EXPECT_FALSE(kLater.differs_by("evaluation.every", std::int64_t{5}));
  EXPECT_TRUE(kLater.only_observes("evaluation.every"));
  EXPECT_FALSE(kLater.only_observes("training.decay"));
}

/// A key, and the values that it may have: few, so that they meet.
struct Key {
  std::string name;
  std::int64_t was = 0;
  std::int64_t is = 0;
  bool came_later = false;
};

std::vector<Key> any_history() {
  std::vector<Key> keys;
  for (const char* name :
       {"scenario.a", "scenario.b", "training.a", "algorithm.0.a", "algorithm.0.b", "algorithm.1.a"}) {
    keys.push_back({name, *rc::gen::inRange(0, 3), *rc::gen::inRange(0, 3), *rc::gen::arbitrary<bool>()});
  }
  return keys;
}

RC_GTEST_PROP(ConfigIdentity, ConfigsOfTwoVersionsAreAlikeIfAndOnlyIfTheyDoTheSame, ()) {
  ConfigIdentity identity;
  Settings kept;
  Settings now;
  bool alike = true;
  for (const Key& key : any_history()) {
    now[key.name] = {key.is, ""};
    const std::int64_t before = key.came_later ? key.was : *rc::gen::element(key.was, key.is);
    if (key.came_later) {
      identity.later.push_back({key.name, key.was});
    } else {
      kept[key.name] = {before, ""};
    }
    alike = alike && before == key.is;
  }
  RC_ASSERT(to_toml(identity.of(kept)) == to_toml(kept));
  RC_ASSERT((to_toml(identity.of(now)) == to_toml(identity.of(kept))) == alike);
  RC_ASSERT(identity.changes(kept, now).empty() == alike);
  RC_ASSERT(identity.changes(now, kept).empty() == alike);
  // Nobody wrote anything: whatever is the default now, what was begun goes on.
  Settings unchanged = now;
  for (const auto& [name, setting] : kept) {
    unchanged[name] = setting;
  }
  RC_ASSERT(identity.changes(kept, identity.as_begun(unchanged, {}, kept)).empty());
}

TEST(ConfigIdentityOfTheProgram, ScaledInputsAreAnotherMethodThanTheyWere) {
  const Settings scaled = settings("[training]\nstandardise = true");
  EXPECT_EQ(config_identity().with_versions(scaled).at("version.standardise").value, SettingValue(std::int64_t{2}));
  EXPECT_TRUE(holds(config_identity().changed_methods(scaled), "standardise was in version 1, is in version 2"));
  const Settings plain = settings("[training]\nstandardise = false");
  EXPECT_EQ(to_toml(config_identity().with_versions(plain)), to_toml(plain));
  EXPECT_EQ(config_identity().changed_methods(plain), "");
}

RC_GTEST_PROP(ConfigIdentity, NoConfigOfANewVersionIsTakenForOneOfAnOlder, ()) {
  const std::vector<Key> keys = any_history();
  Settings config;
  for (const Key& key : keys) {
    config[key.name] = {key.is, ""};
  }
  const Key& changed = *rc::gen::elementOf(keys);
  const ConfigIdentity identity{
      .later = {}, .retired = {}, .versions = {{"it", *rc::gen::inRange(2, 9), {{changed.name, changed.was}}}}};
  const bool concerned = changed.was == changed.is;
  const Settings now = identity.with_versions(config);
  RC_ASSERT((to_toml(identity.of(now)) != to_toml(identity.of(config))) == concerned);
  RC_ASSERT(identity.changed_methods(config).empty() != concerned);
  RC_ASSERT(identity.changes(config, now).empty() != concerned);
  RC_ASSERT(identity.changes(now, now).empty());
}

}  // namespace
}  // namespace feroma
