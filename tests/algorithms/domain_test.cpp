#include "algorithms/domain.h"

#include <gtest/gtest.h>

#include "feroma/drift/federation.h"
#include "tests/expect_error.h"
#include "tests/toy_engine.h"

namespace feroma {
namespace {

TEST(DomainDistance, IsSymmetricAndZeroOnlyForEqualStatistics) {
  const DomainStatistics a{{0, 1}, {1, 4}};
  const DomainStatistics b{{1, 1}, {2, 4}};
  EXPECT_EQ(domain_distance(a, a), 0);
  EXPECT_EQ(domain_distance(a, b), domain_distance(b, a));
  // First channel (1 + 1) / 4 + (2 + 1) / 2 - 1 = 1, second 0; their mean.
  EXPECT_DOUBLE_EQ(domain_distance(a, b), 0.5);
  EXPECT_GT(domain_distance(a, {{0, 1}, {1, 4.1}}), 0);
  expect_error(ErrorCode::internal, "cannot be compared", [&] { return domain_distance(a, {{0}, {1}}); });
}

TEST(DomainDistance, SurvivesAChannelThatNeverVaries) {
  const double distance = domain_distance({{0}, {0}}, {{0}, {1}});
  EXPECT_TRUE(std::isfinite(distance));
  EXPECT_GT(distance, 1);
}

TEST(DomainStatistics, AverageByDecayAndStartWithWhatComesFirst) {
  const DomainStatistics first = moving_average({}, {{2}, {3}}, 0.8);
  EXPECT_EQ(first.mean[0], 2);
  const DomainStatistics second = moving_average(first, {{7}, {8}}, 0.8);
  EXPECT_DOUBLE_EQ(second.mean[0], 3);
  EXPECT_DOUBLE_EQ(second.variance[0], 4);
}

TEST(DomainStatistics, PoolLikeTheDataThemselves) {
  // {-1, 1} and {1, 3}: together mean 1, variance (4 + 0 + 0 + 4) / 4.
  const std::vector<DomainStatistics> two{{{0}, {1}}, {{2}, {1}}};
  const DomainStatistics all = pooled(two);
  EXPECT_DOUBLE_EQ(all.mean[0], 1);
  EXPECT_DOUBLE_EQ(all.variance[0], 2);
  EXPECT_TRUE(pooled({}).empty());
}

class StemTest : public testing::Test {
 protected:
  StemTest() : federation(test::toy_dataset(), test::toy_scenario()), data(federation.test(ClientId{0}, 0).data) {}

  Federation federation;
  View data;
};

TEST_F(StemTest, ChannelsOfAConvolutionAreMeasuredOverPositions) {
  const ModelSpec model{"conv", data.shape, 10, {Conv2d{"c", 2, 1, 0}, Relu{}, Flatten{}, Linear{"f", 10}}};
  Parameters params = initialise(model, Rng(1));
  // One channel shows the first colour itself, the other its negative, twice as strong and lifted.
  std::fill(params.segment(0).begin(), params.segment(0).end(), 0.0F);
  params.segment(0)[0] = 1;
  params.segment(0)[3] = -2;
  params.segment(1)[0] = 0;
  params.segment(1)[1] = 5;
  const DomainStatistics seen = Stem(model).statistics(params, data);
  double mean = 0;
  double square = 0;
  const Batch batch = [&] {
    std::vector<std::uint32_t> order(data.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    return assemble(data, order, BatchLayout::sample_major);
  }();
  const double pixels = 16.0 * static_cast<double>(data.size());
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
    const double value = i % 48 < 16 ? static_cast<double>(batch.inputs[i]) : 0.0;
    mean += value / pixels;
    square += value * value / pixels;
  }
  ASSERT_EQ(seen.mean.size(), 2U);
  EXPECT_NEAR(seen.mean[0], mean, 1e-5);
  EXPECT_NEAR(seen.mean[1], 5 - 2 * mean, 1e-5);
  EXPECT_NEAR(seen.variance[0], square - mean * mean, 1e-5);
  EXPECT_NEAR(seen.variance[1], 4 * (square - mean * mean), 1e-4);
}

TEST_F(StemTest, UnitsOfALinearLayerAreChannels) {
  const ModelSpec model = test::toy_model(data.shape, 10);
  const Parameters params = initialise(model, Rng(1));
  const DomainStatistics seen = Stem(model).statistics(params, data);
  test::ToyEngine engine(model);
  std::vector<std::uint32_t> order(data.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  const Activations out = engine.forward(params, assemble(data, order, engine.layout()), Latent::flatten);
  double mean = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    mean += static_cast<double>(out.logits[i * 10 + 3]) / static_cast<double>(data.size());
  }
  ASSERT_EQ(seen.mean.size(), 10U);
  EXPECT_NEAR(seen.mean[3], mean, 1e-5);
}

TEST_F(StemTest, LeNet5HasSixChannels) {
  const ModelSpec model = lenet5({1, 28, 28}, 10);
  Samples pictures;
  pictures.shape = {1, 28, 28};
  pictures.labels = {0};
  pictures.pixels.assign(28 * 28, 100);
  const std::vector<Recipe> recipes{{std::vector<Transform>(10), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}};
  const View one{&pictures, recipes, pictures.shape, {{0, 0}}};
  EXPECT_EQ(Stem(model).statistics(initialise(model, Rng(1)), one).mean.size(), 6U);
}

}  // namespace
}  // namespace feroma
