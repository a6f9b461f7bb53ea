#include <gtest/gtest.h>

#include <map>
#include <set>

#include "feroma/data/catalog.h"
#include "feroma/data/split.h"
#include "tests/data/shared_data.h"

namespace feroma {
namespace {

using test::shared_data;

std::vector<int> per_class(const Samples& samples, int classes) {
  std::vector<int> counts(static_cast<std::size_t>(classes), 0);
  for (const std::int32_t label : samples.labels) {
    ++counts[static_cast<std::size_t>(label)];
  }
  return counts;
}

// Counts of the official release: walking, upstairs, downstairs, sitting, standing, laying.
TEST(RealUciHar, HasTheOfficialCounts) {
  FEROMA_NEEDS_SHARED_DATA("uci-har");
  const auto dataset = load_dataset("uci-har", shared_data("uci-har"));
  EXPECT_EQ(per_class(dataset->train, 6), (std::vector<int>{1226, 1073, 986, 1286, 1374, 1407}));
  EXPECT_EQ(per_class(dataset->test, 6), (std::vector<int>{496, 471, 420, 491, 532, 537}));
  EXPECT_EQ(dataset->train.shape, (SampleShape{9, 1, 128}));
  EXPECT_EQ(std::set<int>(dataset->train.owners.begin(), dataset->train.owners.end()).size(), 21U);
  EXPECT_EQ(std::set<int>(dataset->test.owners.begin(), dataset->test.owners.end()).size(), 9U);
}

TEST(RealPacs, HasFourDomainsOfSevenClasses) {
  FEROMA_NEEDS_SHARED_DATA("pacs64");
  const auto dataset = load_dataset("pacs", shared_data("pacs64"));
  EXPECT_EQ(dataset->domain_names, (std::vector<std::string>{"art_painting", "cartoon", "photo", "sketch"}));
  EXPECT_EQ(dataset->class_names,
            (std::vector<std::string>{"dog", "elephant", "giraffe", "guitar", "horse", "house", "person"}));
  std::map<std::pair<int, int>, int> train;
  std::map<std::pair<int, int>, int> test;
  for (std::size_t i = 0; i < dataset->train.count(); ++i) {
    ++train[{dataset->train.domains[i], dataset->train.labels[i]}];
  }
  for (std::size_t i = 0; i < dataset->test.count(); ++i) {
    ++test[{dataset->test.domains[i], dataset->test.labels[i]}];
  }
  ASSERT_EQ(train.size(), 28U);
  for (const auto& [group, count] : train) {
    EXPECT_EQ(count, 64);
    EXPECT_EQ(test[group], 16);
  }
  EXPECT_EQ(dataset->train.pixels.size(), 28U * 64 * 3 * 64 * 64);
}

TEST(RealNih, IsSplitByPatient) {
  FEROMA_NEEDS_SHARED_DATA("nih-chestxray64");
  const auto dataset = load_dataset("nih-chestxray64", shared_data("nih-chestxray64"));
  EXPECT_EQ(dataset->train.count() + dataset->test.count(), 7060U);
  EXPECT_NEAR(static_cast<double>(dataset->test.count()) / 7060, 0.2, 0.005);
  const std::set<int> train(dataset->train.owners.begin(), dataset->train.owners.end());
  for (const std::int32_t patient : dataset->test.owners) {
    ASSERT_FALSE(train.contains(patient)) << patient;
  }
  EXPECT_EQ(dataset->domain_names.size(), 8U);
  EXPECT_EQ(dataset->domain_names.front(), "PA/young/female");
  EXPECT_EQ(dataset->class_names.front(), "Atelectasis");
  std::map<int, int> sizes;
  std::vector<int> findings(14, 0);
  for (const Samples* samples : {&dataset->train, &dataset->test}) {
    for (const std::int32_t domain : samples->domains) {
      ++sizes[domain];
    }
    for (std::size_t i = 0; i < samples->targets.size(); ++i) {
      findings[i % 14] += samples->targets[i];
    }
  }
  // Counted from metadata.csv: view x age x sex, and each finding.
  const std::map<int, int> wanted{{0, 719}, {1, 1062}, {2, 1463}, {3, 1289}, {4, 457}, {5, 777}, {6, 665}, {7, 628}};
  EXPECT_EQ(sizes, wanted);
  EXPECT_EQ(findings, (std::vector<int>{687, 248, 290, 154, 757, 164, 202, 27, 1294, 301, 360, 228, 81, 307}));
}

}  // namespace
}  // namespace feroma
