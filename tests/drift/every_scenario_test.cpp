// One walk over every drift mode, shift, level and generator: what must hold for all of them.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "tests/drift/federation_support.h"

namespace feroma {
namespace {

using test::all_sources;
using test::client;
using test::same_shard;
using test::sources_of;
using test::unique;

constexpr int kClients = 12;
constexpr int kDomains = 4;

/// Labels, domains and owners go round at different speeds, so that they are independent.
const std::shared_ptr<const Dataset>& rich_dataset() {
  static const std::shared_ptr<const Dataset> dataset = [] {
    auto rich = std::make_shared<Dataset>(*test::make_dataset(6000, 1800));
    rich->domain_names = {"a", "b", "c", "d"};
    for (Samples* samples : {&rich->train, &rich->test}) {
      for (std::size_t i = 0; i < samples->count(); ++i) {
        samples->domains.push_back(static_cast<std::int32_t>(i / 10 % kDomains));
        samples->owners.push_back(static_cast<std::int32_t>(i / 40 % 15));
      }
    }
    return rich;
  }();
  return dataset;
}

using Case = std::tuple<DriftMode, Shift, Level, Generator>;

ScenarioOptions options_of(const Case& c) {
  ScenarioOptions options;
  std::tie(options.drift_mode, options.shift, options.level, options.generator) = c;
  options.clients = kClients;
  options.drifts = has_stages(options.drift_mode) ? 5 : 1;
  return options;
}

template <NamedEnum E>
std::vector<E> all_of() {
  std::vector<E> values;
  for (const auto& [value, name] : enum_names(E{})) {
    if (std::find(values.begin(), values.end(), value) == values.end()) {
      values.push_back(value);
    }
  }
  return values;
}

bool exists(const Case& c) {
  const auto [mode, shift, level, generator] = c;
  const bool leveled = shift != Shift::natural && shift != Shift::iid && shift != Shift::natural_id;
  return (mode == DriftMode::fixed || is_single(shift) || shift == Shift::natural) &&
         (leveled || level == Level::medium);
}

class EveryScenario : public testing::TestWithParam<DriftMode> {
 protected:
  template <class Check>
  void for_each(Check check) {
    int cases = 0;
    for (const Shift shift : all_of<Shift>()) {
      for (const Level level : all_of<Level>()) {
        for (const Generator generator : all_of<Generator>()) {
          const Case c{GetParam(), shift, level, generator};
          if (exists(c)) {
            SCOPED_TRACE(fmt::format("{} {} {}", name_of(shift), name_of(level), name_of(generator)));
            check(options_of(c), Federation(rich_dataset(), options_of(c)));
            ++cases;
          }
        }
      }
    }
    EXPECT_GE(cases, 36);
  }
};

Round last_round_of(const Federation& federation, int stage) {
  Round last = 0;
  for (Round round = 1; round <= federation.options().rounds; ++round) {
    last = federation.schedule().stage_of_round[static_cast<std::size_t>(round)] == stage ? round : last;
  }
  return last;
}

TEST_P(EveryScenario, IdsAreInTheBankAndTestsFollowTheMode) {
  for_each([](const ScenarioOptions& options, const Federation& federation) {
    const Schedule& schedule = federation.schedule();
    ASSERT_EQ(schedule.ids.size(), static_cast<std::size_t>(kClients));
    ASSERT_EQ(schedule.test_ids.size(), static_cast<std::size_t>(kClients));
    std::set<int> trained;
    for (const std::vector<int>& ids : schedule.ids) {
      ASSERT_EQ(ids.size(), static_cast<std::size_t>(options.drifts));
      trained.insert(ids.begin(), ids.end());
    }
    ASSERT_GE(*trained.begin(), 1);
    ASSERT_LE(*trained.rbegin(), schedule.bank.size());
    for (std::size_t k = 0; k < kClients; ++k) {
      const std::set<int> own(schedule.ids[k].begin(), schedule.ids[k].end());
      ASSERT_GE(schedule.test_ids[k], 1);
      ASSERT_LE(schedule.test_ids[k], schedule.bank.size());
      EXPECT_EQ(tests_drift(options.drift_mode),
                !own.contains(schedule.test_ids[k]) && tests_drift(options.drift_mode));
      if (options.drift_mode == DriftMode::fixed || options.drift_mode == DriftMode::trDA_teND ||
          options.generator == Generator::anda_2024) {
        EXPECT_EQ(own.contains(schedule.test_ids[k]), !tests_drift(options.drift_mode));
      }
      if (!tests_drift(options.drift_mode)) {
        EXPECT_TRUE(trained.contains(schedule.test_ids[k]));
      }
    }
  });
}

TEST_P(EveryScenario, EveryoneHasDataOfItsSharesOnly) {
  for_each([](const ScenarioOptions& options, const Federation& federation) {
    std::map<std::uint32_t, std::set<std::uint32_t>> owners;
    for (std::uint32_t k = 0; k < kClients; ++k) {
      const ClientShard shard = federation.shard(client(k), 20);
      ASSERT_GT(shard.train.size(), 0U);
      ASSERT_EQ(shard.train.shape.channels, changes_pictures(options.shift) ? 3 : 1);
      for (const std::uint32_t source : unique(all_sources(shard))) {
        owners[source].insert(k);
      }
      const TestShard tested = federation.test(client(k), 2);
      ASSERT_GT(tested.data.size(), 0U);
      ASSERT_EQ(tested.data.samples, &rich_dataset()->test);
      const std::set<std::uint32_t> own = unique(sources_of(tested.data));
      for (const ViewItem& item : tested.few_labels.items) {
        ASSERT_FALSE(own.contains(item.source));
      }
      for (const View* view : {&shard.train, &shard.held_out, &tested.data, &tested.few_labels}) {
        for (std::size_t i = 0; i < view->size(); ++i) {
          ASSERT_LT(view->items[i].recipe, view->recipes.size());
          ASSERT_LT(view->label(i), 10);
        }
      }
    }
    const bool shared = options.drift_mode == DriftMode::trND_teDR && options.shift == Shift::label_prior;
    for (const auto& [source, who] : owners) {
      ASSERT_TRUE(shared || who.size() == 1) << "sample " << source;
    }
  });
}

TEST_P(EveryScenario, SamplesFitTheirDistribution) {
  for_each([](const ScenarioOptions& options, const Federation& federation) {
    if (!has_bank(options)) {
      return;
    }
    const Bank& bank = federation.schedule().bank;
    for (const std::uint32_t k : {0U, 5U}) {
      const ClientShard shard = federation.shard(client(k), 20);
      std::set<std::uint32_t> allowed;
      for (const int id : federation.schedule().ids[k]) {
        allowed.insert(static_cast<std::uint32_t>(id - 1));
      }
      for (const ViewItem& item : shard.train.items) {
        const int id = static_cast<int>(item.recipe) + 1;
        ASSERT_TRUE(accumulates(options.drift_mode) ? allowed.contains(item.recipe) : id == shard.distribution);
        ASSERT_TRUE(bank.entry(id).keeps(rich_dataset()->train, item.source));
      }
      const TestShard tested = federation.test(client(k), 0);
      for (const ViewItem& item : tested.data.items) {
        ASSERT_EQ(static_cast<int>(item.recipe) + 1, tested.distribution);
        ASSERT_TRUE(bank.entry(tested.distribution).keeps(rich_dataset()->test, item.source));
      }
    }
  });
}

TEST_P(EveryScenario, LaterStagesContainEarlierOnesWhereDataAccumulate) {
  for_each([](const ScenarioOptions& options, const Federation& federation) {
    if (!accumulates(options.drift_mode)) {
      return;
    }
    std::multiset<std::pair<std::uint32_t, std::uint32_t>> before;
    for (int stage = 0; stage < options.drifts; ++stage) {
      const ClientShard shard = federation.shard(client(3), last_round_of(federation, stage));
      std::multiset<std::pair<std::uint32_t, std::uint32_t>> now;
      for (const View* view : {&shard.train, &shard.held_out}) {
        for (const ViewItem& item : view->items) {
          now.emplace(item.source, item.recipe);
        }
      }
      ASSERT_TRUE(std::includes(now.begin(), now.end(), before.begin(), before.end()));
      ASSERT_GT(now.size(), before.size());
      before = now;
    }
  });
}

TEST_P(EveryScenario, IsAFunctionOfTheSeed) {
  for_each([](ScenarioOptions options, const Federation& federation) {
    const Federation again(rich_dataset(), options);
    EXPECT_TRUE(same_shard(federation.shard(client(2), 20), again.shard(client(2), 20)));
    EXPECT_EQ(federation.test(client(2), 3).few_labels.items, again.test(client(2), 3).few_labels.items);
    ++options.seed;
    const Federation other(rich_dataset(), options);
    EXPECT_FALSE(same_shard(federation.shard(client(2), 20), other.shard(client(2), 20)));
  });
}

INSTANTIATE_TEST_SUITE_P(Modes, EveryScenario, testing::ValuesIn(all_of<DriftMode>()),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

}  // namespace
}  // namespace feroma
