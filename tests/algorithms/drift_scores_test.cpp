#include "algorithms/drift_scores.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/toy_engine.h"

namespace feroma {
namespace {

TEST(DriftScores, AccuracyCountsHitsAndLossTurnsItsSign) {
  Tally tally;
  tally.count = 8;
  tally.correct = 6;
  tally.loss_sum = 2.5;
  EXPECT_EQ(merit_of(tally, FedDriftMeasure::accuracy), 6);
  EXPECT_EQ(merit_of(tally, FedDriftMeasure::loss), -2.5);
  tally.auroc = 75;  // of several labels a sample: three quarters of eight
  EXPECT_EQ(merit_of(tally, FedDriftMeasure::accuracy), 6);
}

// Three samples of class 0 and one of class 2: the guess is class 0 every time, with a loss of -3 ln(3/4) - ln(1/4).
TEST(DriftScores, AGuessGoesByHowFrequentLabelsAre) {
  Samples samples;
  samples.shape = {1, 1, 1};
  samples.labels = {0, 2, 0, 0};
  samples.pixels.resize(4);
  Recipe recipe;
  recipe.transform_of_class.resize(3);
  recipe.label_of_class = {0, 1, 2};
  const std::vector<Recipe> recipes{recipe};
  View view{&samples, recipes, samples.shape, {{0, 0}, {1, 0}, {2, 0}, {3, 0}}};
  const Tally guess = guess_on(view, 3);
  EXPECT_EQ(guess.count, 4);
  EXPECT_EQ(guess.correct, 3);
  EXPECT_NEAR(guess.loss_sum, -3 * std::log(0.75) - std::log(0.25), 1e-5);
}

}  // namespace
}  // namespace feroma
