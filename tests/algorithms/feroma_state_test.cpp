#include "algorithms/feroma_state.h"

#include <gtest/gtest.h>

#include "tests/toy_engine.h"

namespace feroma {
namespace {

TEST(FeromaState, EveryFieldSurvivesACheckpoint) {
  const ModelSpec spec = test::toy_model({1, 2, 2}, 2);
  const ProfileShape shape{2, 1, 2, true};
  FeromaState state;
  state.global = share(initialise(spec, Rng(1)));
  state.global_before = share(initialise(spec, Rng(4)));
  state.warmup_end = 4;
  state.warmup_accuracy = {10, 20.5};
  state.latent_max = 3.5;
  state.equipment.extractor.encoder = share(initialise(spec, Rng(2)));
  state.equipment.extractor.projector = {4, 1, {1, 2, 3, 4}, {5, 6, 7, 8}};
  state.scaler.blocks = {{0, 2, -1, 0.5}, {2, 2, 3, 4}};
  state.equipment.holders = {ClientId{1}, ClientId{5}};
  const Profile profile{{{1, 2}, {3, 4}}, {{{5}, {6}}, {{7}, {8}}}, {0.25F, 0.75F}, 40};
  state.parents = {
      {ClientId{5}, share(initialise(spec, Rng(3))), profile, 30, 7, 55.5, share(initialise(spec, Rng(5)))}};

  ArchiveWriter archive;
  ModelWriter writer(archive);
  save(state, shape, writer);
  ArchiveReader in(archive.bytes(), "state");
  ModelReader reader(in, state.global->shared_layout());
  const FeromaState loaded = load_feroma_state(shape, 4, reader);
  in.expect_end();

  const auto same = [](const ParametersPtr& a, const ParametersPtr& b) {
    return std::equal(a->values().begin(), a->values().end(), b->values().begin(), b->values().end());
  };
  EXPECT_TRUE(same(loaded.global, state.global));
  EXPECT_TRUE(same(loaded.global_before, state.global_before));
  EXPECT_EQ(loaded.warmup_end, 4);
  EXPECT_EQ(loaded.warmup_accuracy, state.warmup_accuracy);
  EXPECT_EQ(loaded.latent_max, 3.5);
  EXPECT_TRUE(same(loaded.equipment.extractor.encoder, state.equipment.extractor.encoder));
  EXPECT_EQ(loaded.equipment.extractor.projector.components, state.equipment.extractor.projector.components);
  EXPECT_EQ(loaded.equipment.extractor.projector.centre, state.equipment.extractor.projector.centre);
  EXPECT_EQ(loaded.equipment.extractor.projector.input, 4);
  EXPECT_EQ(loaded.equipment.extractor.projector.output, 1);
  EXPECT_EQ(scale(loaded.scaler, std::vector<float>{1, 2, 3, 4}), (std::vector<double>{1, 1.5, 0, 4}));
  EXPECT_EQ(loaded.equipment.holders, state.equipment.holders);
  ASSERT_EQ(loaded.parents.size(), 1U);
  EXPECT_EQ(loaded.parents[0].client, ClientId{5});
  EXPECT_TRUE(same(loaded.parents[0].model, state.parents[0].model));
  EXPECT_EQ(loaded.parents[0].profile, profile);
  EXPECT_EQ(loaded.parents[0].num_examples, 30);
  EXPECT_EQ(loaded.parents[0].round, 7);
  EXPECT_EQ(loaded.parents[0].held_out, 55.5);
  EXPECT_TRUE(same(loaded.parents[0].mixture, state.parents[0].mixture));
}

TEST(FeromaState, AWarmUpThatHasNotEndedIsStillGoingOnAfterwards) {
  FeromaState state;
  state.global = share(initialise(test::toy_model({1, 2, 2}, 2), Rng(1)));
  ArchiveWriter archive;
  ModelWriter writer(archive);
  save(state, {1, 1, 2, false}, writer);
  ArchiveReader in(archive.bytes(), "state");
  ModelReader reader(in, state.global->shared_layout());
  EXPECT_FALSE(load_feroma_state({1, 1, 2, false}, 4, reader).warmup_end);
}

}  // namespace
}  // namespace feroma
