#include "feroma/metrics/tally.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/expect_error.h"

namespace feroma {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tally one_row(std::vector<float> logits, std::int32_t label) {
  return tally_logits(logits, static_cast<int>(logits.size()), std::array{label});
}

TEST(TallyLogits, AddsCrossEntropyAndHits) {
  // Row 1: softmax(0, ln 3) = (1/4, 3/4). Row 2: softmax(0, 0) = (1/2, 1/2).
  const std::array<float, 4> logits{0.0F, 1.0986123F, 0.0F, 0.0F};
  const Tally tally = tally_logits(logits, 2, std::array{1, 1});
  EXPECT_NEAR(tally.loss_sum, 0.28768207 + 0.69314718, 1e-6);
  EXPECT_EQ(tally.correct, 1);
  EXPECT_EQ(tally.count, 2);
  EXPECT_DOUBLE_EQ(tally.accuracy(), 50.0);
  EXPECT_DOUBLE_EQ(tally.loss(), tally.loss_sum / 2);
}

TEST(TallyLogits, GivesTiesToTheLowestClass) {
  EXPECT_EQ(one_row({1, 5, 5}, 1).correct, 1);
  EXPECT_EQ(one_row({1, 5, 5}, 2).correct, 0);
}

TEST(TallyLogits, SurvivesHugeLogits) {
  EXPECT_NEAR(one_row({1e30F, 0.0F}, 0).loss_sum, 0.0, 1e-12);
  EXPECT_NEAR(one_row({1000.0F, 998.0F}, 1).loss_sum, 2.0 + std::log1p(std::exp(-2.0)), 1e-9);
  EXPECT_NEAR(one_row({-1000.0F, -1000.0F}, 1).loss_sum, std::log(2.0), 1e-12);
}

TEST(TallyLogits, CountsANanRowAsWrongAndMakesTheLossNan) {
  for (const auto& row : {std::vector<float>{kNan, 1}, std::vector<float>{1, kNan}, std::vector<float>{kNan, kNan}}) {
    for (const std::int32_t label : {0, 1}) {
      const Tally tally = one_row(row, label);
      EXPECT_EQ(tally.correct, 0);
      EXPECT_EQ(tally.count, 1);
      EXPECT_TRUE(std::isnan(tally.loss_sum));
    }
  }
}

TEST(TallyLogits, OfNothingIsEmptyAndHasNoNan) {
  const Tally tally = tally_logits({}, 10, {});
  EXPECT_EQ(tally.count, 0);
  EXPECT_EQ(tally.loss(), 0.0);
  EXPECT_EQ(tally.accuracy(), 0.0);
}

TEST(Tally, WhatIsNotToldIsNoNumber) {
  EXPECT_EQ(Tally::untold().count, 0);
  EXPECT_TRUE(std::isnan(Tally::untold().loss()));
  EXPECT_TRUE(std::isnan(Tally::untold().accuracy()));
}

TEST(TallyLogits, RefusesLabelsOutsideTheClasses) {
  expect_error(ErrorCode::invalid_data, "in 0..1, got 2", [] { return one_row({1, 2}, 2); });
  expect_error(ErrorCode::invalid_data, "in 0..1, got -1", [] { return one_row({1, 2}, -1); });
}

TEST(TallyLogits, RefusesAWrongNumberOfScores) {
  expect_error(ErrorCode::internal, "need 4 scores, got 3", [] {
    return tally_logits(std::array<float, 3>{}, 2, std::array{0, 1});
  });
  expect_error(ErrorCode::internal, "classes must be >= 1", [] { return tally_logits({}, 0, {}); });
}

TEST(TallyProbabilities, AddsMinusLogOfTheLabel) {
  const std::array<float, 4> probabilities{0.25F, 0.75F, 0.5F, 0.5F};
  const Tally tally = tally_probabilities(probabilities, 2, std::array{1, 1});
  EXPECT_NEAR(tally.loss_sum, -std::log(0.75) - std::log(0.5), 1e-12);
  EXPECT_EQ(tally.correct, 1);
}

TEST(TallyProbabilities, KeepsTheLossFiniteWhereAProbabilityRoundedToZero) {
  const Tally tally = tally_probabilities(std::array{1.0F, 0.0F}, 2, std::array{1});
  EXPECT_NEAR(tally.loss_sum, 87.3365, 1e-3);  // -log of the smallest normal float
}

TEST(TallyProbabilities, CountsANanRowAsWrong) {
  const Tally tally = tally_probabilities(std::array{kNan, 1.0F}, 2, std::array{1});
  EXPECT_EQ(tally.correct, 0);
  EXPECT_TRUE(std::isnan(tally.loss_sum));
}

// By hand: class 0 ranks 3 of 4 pairs right, class 1 all of its 3, class 2 has no pair.
TEST(TallyMultiLabel, AveragesTheClassesThatCanBeRanked) {
  const std::array<float, 12> probabilities{0.9F, 0.8F, 0.1F, 0.3F, 0.2F, 0.2F, 0.6F, 0.1F, 0.3F, 0.4F, 0.3F, 0.4F};
  const std::array<float, 12> targets{1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0};
  const Tally tally = tally_multi_label(probabilities, 3, targets);
  EXPECT_EQ(tally.count, 4);
  ASSERT_TRUE(tally.auroc);
  EXPECT_NEAR(*tally.auroc, 100.0 * (0.75 + 1.0) / 2, 1e-12);
  EXPECT_EQ(tally.accuracy(), *tally.auroc);
  double expected = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto p = static_cast<double>(probabilities[i]);
    expected -= std::log(targets[i] > 0 ? p : 1 - p) / 3;
  }
  EXPECT_NEAR(tally.loss_sum, expected, 1e-6);
}

TEST(TallyMultiLabel, IsChanceWhereNothingCanBeRankedAndFiniteWhereCertaintyIsWrong) {
  const Tally tally = tally_multi_label(std::array{1.0F, 0.0F}, 1, std::array{0.0F, 0.0F});
  EXPECT_EQ(tally.accuracy(), 50.0);
  EXPECT_NEAR(tally.loss_sum, 87.3365, 1e-3);
}

TEST(TallyMultiLabel, RefusesListsThatDoNotFit) {
  EXPECT_THROW((void)tally_multi_label(std::array{0.5F, 0.5F}, 2, std::array{1.0F}), Error);
  EXPECT_THROW((void)tally_multi_label(std::array{0.5F, 0.5F, 0.5F}, 2, std::array{1.0F, 0.0F, 1.0F}), Error);
}

TEST(Tally, AddsUp) {
  Tally total{1.0, 1, 2};
  total += Tally{2.0, 3, 4};
  EXPECT_EQ(total.loss_sum, 3.0);
  EXPECT_EQ(total.correct, 4);
  EXPECT_EQ(total.count, 6);
}

}  // namespace
}  // namespace feroma
