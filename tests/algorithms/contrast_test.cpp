#include "algorithms/contrast.h"

#include "algorithms/wide_head.h"
#include "tests/algorithms/slopes.h"

namespace feroma {
namespace {

using test::expect_slopes;
using test::normal_rows;

TEST(SupervisedContrast, GradientAgreesWithFiniteDifferences) {
  const std::vector<std::int32_t> labels{0, 1, 0, 2, 1, 0, 5};  // the last is alone
  const std::vector<float> rows = normal_rows(7 * 4, 3);
  const RowLoss loss = supervised_contrast(rows, 4, labels, 0.5);
  expect_slopes(
      rows, loss.gradient, [&](const auto& moved) { return supervised_contrast(moved, 4, labels, 0.5).value; }, 1e-2,
      2e-3);
}

TEST(SupervisedContrast, KnowsTwoPairsByHand) {
  // Two pairs of equal directions at right angles: each row's loss is ln(e + 2) - 1 at temperature 1.
  const std::vector<float> rows{2, 0, 5, 0, 0, 1, 0, 3};
  const std::vector<std::int32_t> labels{0, 0, 1, 1};
  EXPECT_NEAR(supervised_contrast(rows, 2, labels, 1).value, std::log(std::exp(1.0) + 2) - 1, 1e-6);
  EXPECT_GT(supervised_contrast(rows, 2, std::vector<std::int32_t>{0, 1, 0, 1}, 1).value, 1);
}

TEST(SupervisedContrast, RowsWithoutCompanyOrDirectionDoNothing) {
  const std::vector<float> rows{0, 0, 1, 0, 0, 1};
  EXPECT_EQ(supervised_contrast(rows, 2, std::vector<std::int32_t>{0, 1, 2}, 0.1).value, 0);
  const RowLoss loss = supervised_contrast(rows, 2, std::vector<std::int32_t>{0, 0, 1}, 0.1);
  EXPECT_EQ(loss.gradient[0], 0);
  EXPECT_TRUE(std::isfinite(loss.value));
}

TEST(WideHead, GradientsAgreeWithFiniteDifferences) {
  const std::vector<float> latents = normal_rows(5 * 3, 1);
  const std::vector<float> weights = normal_rows(4 * 3, 2);
  const std::vector<float> biases = normal_rows(4, 3);
  const std::vector<std::int32_t> labels{0, 3, 1, 2, 3};
  const std::vector<double> scales{0.5, 0.5, 0.25, 0, 1};
  const auto loss = [&](const auto& z, const auto& w, const auto& b) {
    return wide_cross_entropy({w, b}, z, labels, scales);
  };
  const WideLoss at = loss(latents, weights, biases);
  expect_slopes(
      latents, at.latents, [&](const auto& z) { return loss(z, weights, biases).value; }, 1e-2, 1e-3);
  expect_slopes(
      weights, at.weights, [&](const auto& w) { return loss(latents, w, biases).value; }, 1e-2, 1e-3);
  expect_slopes(
      biases, at.biases, [&](const auto& b) { return loss(latents, weights, b).value; }, 1e-2, 1e-3);
}

}  // namespace
}  // namespace feroma
