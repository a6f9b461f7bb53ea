#include "feroma/partition/bank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace feroma {
namespace {

ScenarioOptions scenario(Shift shift, Level level, Generator generator = Generator::clean) {
  ScenarioOptions options;
  options.shift = shift;
  options.level = level;
  options.generator = generator;
  return options;
}

Bank bank_of(Shift shift, Level level, std::uint64_t seed = 1, Generator generator = Generator::clean,
             int classes = 10) {
  return make_bank(scenario(shift, level, generator), classes, Rng(seed));
}

std::set<std::size_t> kept_classes(const Bank::Entry& entry) {
  std::set<std::size_t> kept;
  for (std::size_t c = 0; c < entry.keeps_class.size(); ++c) {
    if (entry.keeps_class[c]) {
      kept.insert(c);
    }
  }
  return kept;
}

const std::vector<std::int32_t> kOwnLabels{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

TEST(BankParameters, AreThoseOfThePaper) {
  const auto check = [](Shift shift, Level level, BankParameters expected) {
    const BankParameters got = bank_parameters(scenario(shift, level), 10);
    EXPECT_EQ(got.rotations, expected.rotations);
    EXPECT_EQ(got.colours, expected.colours);
    EXPECT_EQ(got.entries, expected.entries);
    EXPECT_EQ(got.classes_per_entry, expected.classes_per_entry);
    EXPECT_EQ(got.swapped_classes, expected.swapped_classes);
  };
  using enum Level;
  check(Shift::covariate, low, {4, 1, 0, 0, 0});
  check(Shift::covariate, medium, {2, 3, 0, 0, 0});
  check(Shift::covariate, high, {4, 3, 0, 0, 0});
  check(Shift::label_prior, low, {1, 1, 4, 2, 0});
  check(Shift::label_prior, medium, {1, 1, 6, 2, 0});
  check(Shift::label_prior, high, {1, 1, 8, 2, 0});
  check(Shift::concept_label, low, {1, 1, 0, 0, 3});
  check(Shift::concept_label, medium, {1, 1, 0, 0, 4});
  check(Shift::concept_label, high, {1, 1, 0, 0, 5});
  check(Shift::concept_feature, low, {4, 3, 4, 8, 0});
  check(Shift::concept_feature, medium, {4, 3, 6, 8, 0});
  check(Shift::concept_feature, high, {4, 3, 8, 8, 0});
}

TEST(BankParameters, ClassSetsGrowWithTheNumberOfClasses) {
  EXPECT_EQ(bank_parameters(scenario(Shift::label_prior, Level::low), 100).classes_per_entry, 20);
  EXPECT_EQ(bank_parameters(scenario(Shift::concept_feature, Level::low), 100).classes_per_entry, 80);
  EXPECT_EQ(bank_parameters(scenario(Shift::label_prior, Level::low), 3).classes_per_entry, 1);
  EXPECT_EQ(bank_parameters(scenario(Shift::concept_label, Level::high), 3).swapped_classes, 3);
}

TEST(BankParameters, ExplicitOnesComeBeforeTheLevel) {
  ScenarioOptions options = scenario(Shift::concept_feature, Level::low);
  options.rotations = 2;
  options.colours = 1;
  options.bank = 5;
  options.classes_per_entry = 3;
  const BankParameters got = bank_parameters(options, 10);
  EXPECT_EQ(got.rotations, 2);
  EXPECT_EQ(got.colours, 1);
  EXPECT_EQ(got.entries, 5);
  EXPECT_EQ(got.classes_per_entry, 3);
}

TEST(Bank, SizeIsWhatBankSizeSays) {
  for (const Shift shift : {Shift::covariate, Shift::label_prior, Shift::concept_label, Shift::concept_feature}) {
    for (const Level level : {Level::low, Level::medium, Level::high}) {
      EXPECT_EQ(bank_of(shift, level).size(), bank_size(shift, bank_parameters(scenario(shift, level), 10)));
    }
  }
  EXPECT_EQ(bank_of(Shift::concept_label, Level::high).size(), 120);
}

TEST(Bank, CovariateIsTheProductOfAnglesAndColoursAngleFirst) {
  std::vector<Transform> got;
  for (const Bank::Entry& entry : bank_of(Shift::covariate, Level::medium).entries) {
    got.push_back(entry.recipe.transform_of_class[0]);
    EXPECT_EQ(entry.recipe.transform_of_class, std::vector<Transform>(10, got.back())) << "all classes alike";
    EXPECT_EQ(entry.recipe.label_of_class, kOwnLabels);
    EXPECT_EQ(kept_classes(entry).size(), 10U);
  }
  // 0 and 180 degrees; red, blue, green are channels 0, 2, 1.
  EXPECT_EQ(got, (std::vector<Transform>{{0, 0}, {0, 2}, {0, 1}, {2, 0}, {2, 2}, {2, 1}}));
}

TEST(Bank, CovariateLowTurnsWithoutColour) {
  std::vector<Transform> got;
  for (const Bank::Entry& entry : bank_of(Shift::covariate, Level::low).entries) {
    got.push_back(entry.recipe.transform_of_class[0]);
  }
  EXPECT_EQ(got, (std::vector<Transform>{{0, -1}, {1, -1}, {2, -1}, {3, -1}}));
}

TEST(Bank, TwoColoursAreRedAndBlue) {
  ScenarioOptions options = scenario(Shift::covariate, Level::low);
  options.rotations = 1;
  options.colours = 2;
  const Bank bank = make_bank(options, 10, Rng(1));
  ASSERT_EQ(bank.size(), 2);
  EXPECT_EQ(bank.entry(1).recipe.transform_of_class[3], (Transform{0, 0}));
  EXPECT_EQ(bank.entry(2).recipe.transform_of_class[3], (Transform{0, 2}));
}

TEST(Bank, LabelPriorKeepsDifferentClassSetsInClean) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Bank bank = bank_of(Shift::label_prior, Level::high, seed);
    std::set<std::set<std::size_t>> sets;
    for (const Bank::Entry& entry : bank.entries) {
      EXPECT_EQ(kept_classes(entry).size(), 2U);
      EXPECT_EQ(entry.recipe.transform_of_class, std::vector<Transform>(10));
      EXPECT_EQ(entry.recipe.label_of_class, kOwnLabels);
      sets.insert(kept_classes(entry));
    }
    EXPECT_EQ(sets.size(), 8U);
  }
}

// 8 sets out of 45: at least one pair coincides with probability 1 - (45 x 44 x .. x 38) / 45^8 = 0.484.
TEST(Bank, LabelPriorEntriesMayCoincideInThePapersData) {
  int coincidences = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    std::set<std::set<std::size_t>> sets;
    for (const Bank::Entry& entry : bank_of(Shift::label_prior, Level::high, seed, Generator::feroma).entries) {
      sets.insert(kept_classes(entry));
    }
    coincidences += sets.size() < 8 ? 1 : 0;
  }
  EXPECT_NEAR(coincidences, 0.484 * 400, 3 * 10);  // sigma = sqrt(400 x 0.484 x 0.516) = 10
}

TEST(Bank, ConceptLabelHoldsEveryPermutationOfOnePoolInOrder) {
  const Bank bank = bank_of(Shift::concept_label, Level::medium);
  ASSERT_EQ(bank.size(), 24);
  EXPECT_EQ(bank.entry(1).recipe.label_of_class, kOwnLabels) << "the identity comes first";
  std::set<std::size_t> moved;
  for (int id = 1; id <= bank.size(); ++id) {
    const std::vector<std::int32_t>& labels = bank.entry(id).recipe.label_of_class;
    EXPECT_TRUE(std::is_permutation(labels.begin(), labels.end(), kOwnLabels.begin()));
    if (id > 1) {
      EXPECT_LT(bank.entry(id - 1).recipe.label_of_class, labels) << "lexicographic, so all differ";
    }
    EXPECT_EQ(bank.entry(id).recipe.transform_of_class, std::vector<Transform>(10));
    EXPECT_EQ(kept_classes(bank.entry(id)).size(), 10U);
    for (std::size_t c = 0; c < 10; ++c) {
      if (labels[c] != kOwnLabels[c]) {
        moved.insert(c);
      }
    }
  }
  EXPECT_EQ(moved.size(), 4U) << "classes outside the pool keep their label";
}

TEST(Bank, ConceptFeatureGivesOnePatternToEachClassSet) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::set<std::vector<bool>> sets;
    for (const Bank::Entry& entry : bank_of(Shift::concept_feature, Level::high, seed).entries) {
      std::vector<Transform> patterns;
      std::vector<bool> targeted;
      for (const Transform& transform : entry.recipe.transform_of_class) {
        // With three colours a targeted class is always tinted.
        targeted.push_back(transform.tint != -1);
        if (transform.tint != -1) {
          patterns.push_back(transform);
        } else {
          EXPECT_EQ(transform, Transform{});
        }
      }
      EXPECT_EQ(patterns, std::vector<Transform>(8, patterns.at(0)));
      EXPECT_EQ(entry.recipe.label_of_class, kOwnLabels);
      sets.insert(targeted);
    }
    EXPECT_EQ(sets.size(), 8U) << "class sets differ";
  }
}

TEST(Bank, ConceptFeaturePatternsAreUniform) {
  std::map<std::pair<int, int>, int> counts;
  constexpr int kSeeds = 600;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const Bank::Entry& entry : bank_of(Shift::concept_feature, Level::low, seed).entries) {
      const auto pattern = std::find_if(entry.recipe.transform_of_class.begin(), entry.recipe.transform_of_class.end(),
                                        [](const Transform& t) { return t.tint != -1; });
      ++counts[{pattern->quarter_turns, pattern->tint}];
    }
  }
  ASSERT_EQ(counts.size(), 12U);
  double chi_square = 0;
  for (const auto& [pattern, count] : counts) {
    const double expected = kSeeds * 4 / 12.0;
    chi_square += (count - expected) * (count - expected) / expected;
  }
  EXPECT_LT(chi_square, 31.3);  // 0.999 quantile with 11 degrees of freedom
}

TEST(Bank, IsAFunctionOfTheSeed) {
  const auto sets = [](std::uint64_t seed) {
    std::vector<std::set<std::size_t>> all;
    for (const Bank::Entry& entry : bank_of(Shift::label_prior, Level::high, seed).entries) {
      all.push_back(kept_classes(entry));
    }
    return all;
  };
  EXPECT_EQ(sets(5), sets(5));
  EXPECT_NE(sets(5), sets(6));
}

}  // namespace
}  // namespace feroma
