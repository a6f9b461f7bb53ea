#include "feroma/data/split.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "tests/data/synthetic.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

std::size_t chosen_count(const std::vector<std::uint8_t>& chosen) {
  return std::accumulate(chosen.begin(), chosen.end(), std::size_t{0});
}

TEST(Split, HoldsOutTheSameFractionOfEveryDomainAndClass) {
  Samples samples = test::make_samples(300, {1, 1, 1}, 3);
  for (std::size_t i = 0; i < 300; ++i) {
    samples.domains.push_back(i < 150 ? 0 : 1);
  }
  const std::vector<std::uint8_t> chosen = choose_test(samples, SplitRule::group, 0.2);
  std::map<std::pair<int, int>, int> tested;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    tested[{samples.domains[i], samples.labels[i]}] += chosen[i];
  }
  EXPECT_EQ(tested.size(), 6U);
  for (const auto& [group, count] : tested) {
    EXPECT_EQ(count, 10) << group.first << " " << group.second;
  }
  EXPECT_EQ(choose_test(samples, SplitRule::group, 0.2), chosen) << "the same data are split the same way";
}

TEST(Split, KeepsBothSidesOfASmallGroup) {
  Samples samples = test::make_samples(2, {1, 1, 1}, 1);
  EXPECT_EQ(chosen_count(choose_test(samples, SplitRule::group, 0.01)), 1U);
  EXPECT_EQ(chosen_count(choose_test(samples, SplitRule::group, 0.9)), 1U);
}

TEST(Split, KeepsOwnersWhole) {
  Samples samples = test::make_samples(100, {1, 1, 1}, 2);
  for (std::size_t i = 0; i < 100; ++i) {
    samples.owners.push_back(static_cast<std::int32_t>(i % 23));
  }
  Dataset dataset;
  dataset.classes = 2;
  split_(dataset, samples, SplitRule::owner, 0.2);
  const std::set<std::int32_t> train(dataset.train.owners.begin(), dataset.train.owners.end());
  for (const std::int32_t owner : dataset.test.owners) {
    EXPECT_FALSE(train.contains(owner)) << owner;
  }
  EXPECT_EQ(dataset.train.count() + dataset.test.count(), 100U);
  EXPECT_NEAR(static_cast<double>(dataset.test.count()), 20, 3);
}

TEST(Split, TakesEveryListAlong) {
  Samples samples = test::make_samples(3, {1, 1, 2}, 2);
  samples.targets = {1, 0, 0, 1, 1, 1};
  samples.domains = {5, 6, 7};
  samples.owners = {8, 9, 10};
  const std::vector<std::uint32_t> indices{2, 0};
  const Samples taken = take_samples(samples, indices, 2);
  EXPECT_EQ(taken.labels, (std::vector<std::int32_t>{samples.labels[2], samples.labels[0]}));
  EXPECT_EQ(taken.pixels,
            (std::vector<std::uint8_t>{samples.pixels[4], samples.pixels[5], samples.pixels[0], samples.pixels[1]}));
  EXPECT_EQ(taken.targets, (std::vector<std::uint8_t>{1, 1, 1, 0}));
  EXPECT_EQ(taken.domains, (std::vector<std::int32_t>{7, 5}));
  EXPECT_EQ(taken.owners, (std::vector<std::int32_t>{10, 8}));
}

TEST(DomainFactors, MergeWhatTheLaterOnesTellApart) {
  Dataset dataset;
  dataset.domain_names = {"front/young/f", "front/young/m", "front/old/f", "side/old/f"};
  dataset.train.domains = {0, 1, 2, 3};
  dataset.test.domains = {3, 1};
  EXPECT_EQ(domain_factors(dataset), 3);
  keep_domain_factors_(dataset, 2);
  EXPECT_EQ(dataset.domain_names, (std::vector<std::string>{"front/young", "front/old", "side/old"}));
  EXPECT_EQ(dataset.train.domains, (std::vector<std::int32_t>{0, 0, 1, 2}));
  keep_domain_factors_(dataset, 1);
  EXPECT_EQ(dataset.domain_names, (std::vector<std::string>{"front", "side"}));
  EXPECT_EQ(dataset.test.domains, (std::vector<std::int32_t>{1, 0}));
  expect_error(ErrorCode::invalid_config, "domains of 1 factors, got a wish for 2", [&] {
    keep_domain_factors_(dataset, 2);
    return 0;
  });
}

}  // namespace
}  // namespace feroma
