#include "feroma/preview/preview.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/preview/toy_scenario.h"

namespace feroma {
namespace {

using test::toy_federation;
using test::toy_scenario;

TEST(StageSpans, JoinTheRoundsOfAStage) {
  Schedule schedule;
  schedule.stage_of_round = {0, 0, 0, 1, 3, 3};
  EXPECT_EQ(stage_spans(schedule), (std::vector<StageSpan>{{0, 1, 2}, {1, 3, 3}, {3, 4, 5}}));
}

TEST(ShownStages, KeepTheFirstOnesAndTheLast) {
  const std::vector<StageSpan> all{{0, 1, 1}, {1, 2, 2}, {2, 3, 3}, {3, 4, 4}};
  EXPECT_EQ(shown_stages(all, 9), all);
  EXPECT_EQ(shown_stages(all, 3), (std::vector<StageSpan>{{0, 1, 1}, {1, 2, 2}, {3, 4, 4}}));
  EXPECT_EQ(shown_stages(all, 1), (std::vector<StageSpan>{{3, 4, 4}}));
}

TEST(Preview, ShowsWhatTheFederationHolds) {
  const Federation federation = toy_federation(Shift::covariate);
  const Preview preview = make_preview(federation, {});
  ASSERT_EQ(preview.rows.size(), 3U);
  ASSERT_EQ(preview.stages.size(), 3U);
  EXPECT_EQ(left_out(preview), "");
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t stage = 0; stage < 3; ++stage) {
      const PreviewCell& cell = preview.rows[k].stages[stage];
      const ClientShard shard = federation.shard(static_cast<ClientId>(k), preview.stages[stage].first);
      EXPECT_EQ(cell.distribution, federation.schedule().ids[k][stage]);
      EXPECT_EQ(cell.count, shard.train.size() + shard.held_out.size());
      EXPECT_NEAR(std::accumulate(cell.histogram.begin(), cell.histogram.end(), 0.0), 1, 1e-9);
      EXPECT_EQ(cell.samples.size, 3);
      EXPECT_EQ(cell.labels.size(), 3U);
    }
    EXPECT_EQ(preview.rows[k].test->distribution, federation.schedule().test_ids[k]);
    EXPECT_EQ(preview.rows[k].test->count, 100U);
  }
}

TEST(Preview, ShowsPicturesAsTheyAreStoredWhateverTheModelGets) {
  const Federation plain = toy_federation(Shift::covariate);
  Federation scaled(std::make_shared<const Dataset>(plain.dataset()), plain.options());
  scaled.scale_inputs({{2, -1}, {3, 0}, {4, 0.5F}});
  EXPECT_EQ(make_preview(scaled, {}).rows[0].stages[0].samples.inputs,
            make_preview(plain, {}).rows[0].stages[0].samples.inputs);
}

TEST(Preview, SaysWhatIsLeftOut) {
  const Preview preview = make_preview(toy_federation(Shift::covariate), {.clients = 2, .stages = 2, .samples = 0});
  EXPECT_EQ(left_out(preview), "left out: 1 of 3 clients, 1 of 3 stages");
  EXPECT_EQ(preview.rows[0].stages[0].samples.size, 0);
  EXPECT_EQ(preview.stages.back().last, 6);
}

TEST(Preview, ClientsBeyondTheTestedOnesHaveNoTestCell) {
  ScenarioOptions options = toy_scenario(Shift::covariate);
  options.test_clients = 1;
  const Federation federation(test::make_dataset(900, 300, {1, 8, 8}), options);
  const Preview preview = make_preview(federation, {});
  EXPECT_TRUE(preview.rows[0].test.has_value());
  EXPECT_FALSE(preview.rows[1].test.has_value());
}

TEST(Preview, OnlyClassesOfThePriorOccurAndEachIsShownBeforeASecondTime) {
  const Federation federation = toy_federation(Shift::label_prior);
  const Preview preview = make_preview(federation, {});
  for (const PreviewRow& row : preview.rows) {
    for (const PreviewCell& cell : row.stages) {
      const Bank::Entry& entry = federation.schedule().bank.entry(cell.distribution);
      for (std::size_t c = 0; c < cell.histogram.size(); ++c) {
        EXPECT_EQ(cell.histogram[c] > 0, entry.keeps_class[c]);
      }
      EXPECT_NE(cell.labels[0], cell.labels[1]) << "two classes each, so the third sample repeats one";
      EXPECT_EQ(cell.labels[2], cell.labels[0]);
    }
  }
}

TEST(Preview, PermutedLabelsNameClassAndLabel) {
  const Federation federation = toy_federation(Shift::concept_label);
  const Preview preview = make_preview(federation, {});
  for (const PreviewRow& row : preview.rows) {
    for (const PreviewCell& cell : row.stages) {
      const std::vector<std::int32_t>& names =
          federation.schedule().bank.entry(cell.distribution).recipe.label_of_class;
      std::vector<std::string> possible;
      for (std::size_t c = 0; c < names.size(); ++c) {
        const bool same = names[c] == static_cast<std::int32_t>(c);
        possible.push_back(same ? fmt::format("{}", c) : fmt::format("{}→{}", c, names[c]));
      }
      for (const std::string& label : cell.labels) {
        EXPECT_NE(std::find(possible.begin(), possible.end(), label), possible.end()) << label;
      }
    }
  }
}

TEST(Preview, LegendListsTheDistributionsThatOccur) {
  const Federation federation = toy_federation(Shift::covariate);
  const Preview preview = make_preview(federation, {.clients = 1, .stages = 1, .samples = 1});
  for (const DistributionNote& note : preview.legend) {
    EXPECT_TRUE(note.id == federation.schedule().ids[0].back() || note.id == federation.schedule().test_ids[0]);
    EXPECT_NE(note.about.find("°"), std::string::npos) << note.about;
  }
  EXPECT_FALSE(preview.legend.empty());
}

TEST(Preview, KindsOfSamples) {
  const auto kind = [](SampleShape shape) {
    const Federation federation(test::number_dataset(shape, 10), toy_scenario(Shift::label_prior));
    return make_preview(federation, {}).kind;
  };
  EXPECT_EQ(kind({9, 1, 16}), SampleKind::signal);
  EXPECT_EQ(kind({12, 1, 1}), SampleKind::table);
  EXPECT_EQ(kind({1, 8, 8}), SampleKind::picture);
  EXPECT_EQ(make_preview(toy_federation(Shift::label_prior), {}).kind, SampleKind::picture);
}

TEST(Preview, SeveralLabelsGiveTheShareOfEach) {
  auto dataset = test::number_dataset({4, 1, 1}, 3);
  for (Samples* samples : {&dataset->train, &dataset->test}) {
    samples->labels.assign(samples->count(), 0);
    for (std::size_t i = 0; i < samples->count(); ++i) {
      samples->targets.insert(samples->targets.end(), {1, static_cast<std::uint8_t>(0), 1});
    }
  }
  ScenarioOptions options = toy_scenario(Shift::iid);
  options.drift_mode = DriftMode::fixed;
  options.drifts = 1;
  const Preview preview = make_preview(Federation(dataset, options), {});
  EXPECT_EQ(preview.rows[0].stages[0].histogram, (std::vector<double>{1, 0, 1}));
  EXPECT_EQ(preview.rows[0].stages[0].labels[0], "0 2");
}

}  // namespace
}  // namespace feroma
