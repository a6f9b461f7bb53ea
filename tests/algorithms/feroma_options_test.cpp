#include "feroma/algorithms/feroma_options.h"

#include <gtest/gtest.h>

namespace feroma {
namespace {

// What the printed method and its implementation share, and auto does not.
TEST(FeromaPreset, PaperAndReferenceProfileTheHeldOutPartAfreshEveryRound) {
  for (const char* preset : {"paper", "reference"}) {
    const FeromaOptions options = feroma_preset(preset);
    EXPECT_EQ(options.warmup_rounds, 5);
    EXPECT_EQ(options.encoder, "warmup");
    EXPECT_FALSE(options.full_marginal);
    EXPECT_EQ(options.data, ProfileData::held_out);
    EXPECT_EQ(options.max_samples, 0);
    EXPECT_EQ(options.replicates, 3);
    EXPECT_EQ(options.missing_class, MissingClass::minus_one);
    EXPECT_FALSE(options.cache);
    EXPECT_EQ(options.threshold, 0);
    EXPECT_EQ(options.encoder_refresh, 0);
    EXPECT_EQ(options.spread, SpreadKind::deviation);
    EXPECT_EQ(options.join, Join::id);
    EXPECT_EQ(options.normalisation, Normalisation::row);
    EXPECT_EQ(options.assign_rule, AssignRule::nearest);
    EXPECT_EQ(options.assign_metric, Metric::euclidean);
    EXPECT_EQ(options.few_label, FewLabelRule::moments);
  }
}

TEST(FeromaPreset, PaperIsThePrintedMethod) {
  const FeromaOptions paper = feroma_preset("paper");
  EXPECT_EQ(paper.momentum_reset, MomentumChoice::inherit);
  EXPECT_EQ(paper.latent, Latent::penultimate);
  EXPECT_EQ(paper.projection, Projection::pca_box);
  EXPECT_EQ(paper.dimensions, 10);
  EXPECT_EQ(paper.subsampling, Subsampling::bernoulli);
  EXPECT_EQ(paper.scaling, Scaling::none);
  EXPECT_EQ(paper.metric, Metric::cosine);
  EXPECT_EQ(paper.kernel, Kernel::softmax);
  EXPECT_EQ(paper.temperature, 1);
  EXPECT_EQ(paper.counts, Counts::none);
  EXPECT_TRUE(paper.subsample_test);
  EXPECT_EQ(paper.least_samples, 1);
  EXPECT_EQ(paper.strategies, StrategyRule::support);
}

TEST(FeromaPreset, ReferenceIsTheImplementation) {
  const FeromaOptions reference = feroma_preset("reference");
  EXPECT_EQ(reference.momentum_reset, MomentumChoice::epoch);
  EXPECT_EQ(reference.latent, Latent::flatten);
  EXPECT_EQ(reference.projection, Projection::pca_cube);
  EXPECT_EQ(reference.dimensions, 0);
  EXPECT_EQ(reference.subsampling, Subsampling::halves);
  EXPECT_EQ(reference.scaling, Scaling::min_max);
  EXPECT_EQ(reference.metric, Metric::euclidean);
  EXPECT_EQ(reference.kernel, Kernel::inverse);
  EXPECT_EQ(reference.counts, Counts::profiled);
  EXPECT_FALSE(reference.subsample_test);
  EXPECT_EQ(reference.least_samples, 2);
}

}  // namespace
}  // namespace feroma
