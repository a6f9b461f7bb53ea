#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/drift/federation_support.h"

namespace feroma {
namespace {

using test::client;
using test::kGenerators;
using test::kShifts;
using test::make_dataset;
using test::mnist_sized;
using test::scenario;
using test::sources_of;
using test::unique;

TEST(FederationTest, SharesAreDisjointAndCoverTheTestSet) {
  for (const Shift shift : {Shift::covariate, Shift::concept_label, Shift::concept_feature}) {
    for (const Generator generator : kGenerators) {
      const Federation federation(mnist_sized(), scenario(shift, generator));
      std::set<std::uint32_t> covered;
      for (std::uint32_t k = 0; k < 20; ++k) {
        const TestShard shard = federation.test(client(k), 0);
        EXPECT_EQ(shard.data.size(), 500U);
        EXPECT_TRUE(shard.few_labels.items.empty());
        EXPECT_EQ(shard.distribution, federation.schedule().test_ids[k]);
        EXPECT_EQ(shard.data.samples, &mnist_sized()->test);
        for (const ViewItem& item : shard.data.items) {
          covered.insert(item.source);
          ASSERT_EQ(item.recipe, static_cast<std::uint32_t>(shard.distribution - 1));
        }
      }
      EXPECT_EQ(covered.size(), 10000U);
    }
  }
}

TEST(FederationTest, LabelPriorIsFilteredAndScaledOnlyInThePapersData) {
  for (const Generator generator : kGenerators) {
    const Federation federation(mnist_sized(), scenario(Shift::label_prior, generator));
    double rows = 0;
    double unique_rows = 0;
    for (std::uint32_t k = 0; k < 20; ++k) {
      const TestShard shard = federation.test(client(k), 0);
      const Bank::Entry& entry = federation.schedule().bank.entry(shard.distribution);
      for (std::size_t i = 0; i < shard.data.size(); ++i) {
        ASSERT_TRUE(entry.keeps_class[static_cast<std::size_t>(shard.data.label(i))]);
      }
      rows += static_cast<double>(shard.data.size()) / 20;
      unique_rows += static_cast<double>(unique(sources_of(shard.data)).size()) / 20;
    }
    EXPECT_NEAR(unique_rows, 100, 6);
    EXPECT_NEAR(rows, generator == Generator::feroma ? 667 : 100, generator == Generator::feroma ? 40 : 6);
  }
}

TEST(FederationTest, FewLabelsComeFromOutsideTheOwnShareUnderTheSameRecipe) {
  for (const Shift shift : kShifts) {
    const Federation federation(mnist_sized(), scenario(shift, Generator::clean));
    // P(Y) filters the data; the share itself is the same under every shift.
    const Federation unfiltered(mnist_sized(), scenario(Shift::covariate, Generator::clean));
    for (std::uint32_t k = 0; k < 3; ++k) {
      const TestShard none = federation.test(client(k), 0);
      const TestShard shard = federation.test(client(k), 20);
      EXPECT_EQ(shard.data.items, none.data.items);
      const std::set<std::uint32_t> share = unique(sources_of(unfiltered.test(client(k), 0).data));
      std::map<std::int32_t, int> per_label;
      for (std::size_t i = 0; i < shard.few_labels.size(); ++i) {
        ASSERT_FALSE(share.contains(shard.few_labels.items[i].source));
        ASSERT_EQ(shard.few_labels.items[i].recipe, static_cast<std::uint32_t>(shard.distribution - 1));
        ++per_label[shard.few_labels.label(i)];
      }
      EXPECT_EQ(per_label.size(), shift == Shift::label_prior ? 2U : 10U);
      for (const auto& [label, count] : per_label) {
        EXPECT_EQ(count, 20);
      }
      EXPECT_EQ(unique(sources_of(shard.few_labels)).size(), shard.few_labels.size()) << "no sample twice";
    }
  }
}

TEST(FederationTest, FewLabelsAreAsManyAsThereAre) {
  const Federation federation(make_dataset(600, 40), scenario(Shift::covariate, Generator::clean, 2, 2));
  EXPECT_EQ(federation.test(client(0), 20).few_labels.size(), 20U) << "the other client's whole share";
}

}  // namespace
}  // namespace feroma
