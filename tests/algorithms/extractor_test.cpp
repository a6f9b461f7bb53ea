#include "feroma/algorithms/extractor.h"

#include <gtest/gtest.h>

#include <set>

#include "feroma/drift/federation.h"
#include "tests/expect_error.h"
#include "tests/toy_engine.h"

namespace feroma {
namespace {

class ExtractorTest : public testing::Test {
 protected:
  ExtractorTest() : federation(test::toy_dataset(), test::toy_scenario()), shard(federation.shard(ClientId{0}, 1)) {}

  /// Places of a view's samples in the dataset.
  static std::vector<std::uint32_t> samples_of(const View& view) {
    std::vector<std::uint32_t> samples;
    for (const ViewItem& item : view.items) {
      samples.push_back(item.source);
    }
    return samples;
  }
  View view_of(ProfileData data, int max_samples, std::uint64_t seed = 1) const {
    FeromaOptions options;
    options.data = data;
    options.max_samples = max_samples;
    return profile_view(options, shard.train, shard.held_out, Rng(seed));
  }

  Federation federation;
  ClientShard shard;
};

TEST_F(ExtractorTest, DataOptionSelectsTheSamples) {
  std::vector<std::uint32_t> both = samples_of(shard.train);
  const auto held_out = samples_of(shard.held_out);
  both.insert(both.end(), held_out.begin(), held_out.end());
  EXPECT_EQ(samples_of(view_of(ProfileData::train, 0)), samples_of(shard.train));
  EXPECT_EQ(samples_of(view_of(ProfileData::held_out, 0)), held_out);
  EXPECT_EQ(samples_of(view_of(ProfileData::all, 0)), both);
}

TEST_F(ExtractorTest, AtMostMaxSamplesAreDrawnAtRandomWithoutRepeats) {
  const auto all = samples_of(view_of(ProfileData::all, 0));
  const auto drawn = samples_of(view_of(ProfileData::all, 10));
  EXPECT_EQ(std::set(drawn.begin(), drawn.end()).size(), 10U);
  EXPECT_FALSE(std::equal(drawn.begin(), drawn.end(), all.begin()));
  EXPECT_NE(drawn, samples_of(view_of(ProfileData::all, 10, 2)));
  EXPECT_EQ(samples_of(view_of(ProfileData::all, static_cast<int>(all.size()))), all);
}

TEST_F(ExtractorTest, WithoutAnEncoderTheSamplesAreTheirOwnLatents) {
  test::ToyEngine engine(test::toy_model(federation.shape(), 10));
  Trainer trainer(engine);
  const View view = view_of(ProfileData::all, 0);
  ASSERT_GT(view.size(), 64U);  // more than one batch
  const EncodedSamples raw = encode_samples({}, nullptr, trainer, view, true);
  const ParametersPtr encoder = share(initialise(test::toy_model(federation.shape(), 10), Rng(1)));
  const EncodedSamples latents =
      encode_samples({}, encoder, trainer, view, true);  // the toy model's latent is its input
  EXPECT_EQ(raw.rows.count(), view.size());
  EXPECT_EQ(raw.rows.values, latents.rows.values);
  EXPECT_EQ(raw.labels, latents.labels);
  EXPECT_EQ(raw.labels.size(), view.size());
  EXPECT_TRUE(encode_samples({}, nullptr, trainer, view, false).labels.empty());
  EXPECT_TRUE(encode_samples({}, encoder, trainer, view, false).labels.empty());
}

TEST(ProfileShapeOf, FollowsTheOptions) {
  const ModelSpec model = test::toy_model({1, 4, 4}, 7);
  FeromaOptions options;
  options.dimensions = 3;
  EXPECT_EQ(profile_shape(options, model), (ProfileShape{16, 3, 7, true, true}));
  options.dimensions = 0;  // as many as classes
  options.full_marginal = false;
  options.missing_class = MissingClass::minus_one;
  EXPECT_EQ(profile_shape(options, model), (ProfileShape{7, 7, 7, false}));
}

TEST(ExtractorMessage, RefusesAProjectorThatDoesNotFit) {
  const Extractor extractor{nullptr, {3, 2, {1, 2, 3, 4, 5, 6}, {7, 8, 9}}};
  const Extractor back = extractor_from(to_message(extractor), 3);
  EXPECT_EQ(back.projector.components, extractor.projector.components);
  EXPECT_EQ(back.projector.output, 2);
  EXPECT_EQ(back.encoder, nullptr);
  const auto refuses = [](std::vector<float> components, std::vector<float> centre) {
    Message message{{{"projector.components", std::move(components)}, {"projector.centre", std::move(centre)}}};
    expect_error(ErrorCode::invalid_data, "does not fit 3",
                 [&] { return extractor_from(message, 3).projector.output; });
  };
  refuses({1, 2, 3, 4}, {7, 8, 9});
  refuses({1, 2, 3}, {7, 8});
  refuses({}, {7, 8, 9});
}

}  // namespace
}  // namespace feroma
