#include "feroma/bench/figures.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/expect_error.h"

namespace feroma {
namespace {

TEST(Figures, HaveDistinctNamesThatAreFound) {
  std::set<std::string_view> names;
  for (const FigureEntry& entry : known_figures()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_EQ(find_figure(entry.name).name, entry.name);
    EXPECT_FALSE(entry.about.empty()) << entry.name;
  }
}

TEST(Figures, AnUnknownNameListsTheKnownOnes) {
  expect_error(ErrorCode::invalid_config, "threads_2_over_1, feroma_over_fedavg",
               [] { return find_figure("nothing").name.size(); });
}

TEST(Figures, TargetsSayOnWhichSideTheLimitLies) {
  using enum Target::Side;
  EXPECT_TRUE((Target{at_least, 4}.met(4)));
  EXPECT_FALSE((Target{at_least, 4}.met(3.9)));
  EXPECT_TRUE((Target{at_most, 1.2}.met(1.2)));
  EXPECT_FALSE((Target{at_most, 1.2}.met(1.21)));
  EXPECT_FALSE((Target{below, 0.02}.met(0.02)));
  EXPECT_TRUE((Target{below, 0.02}.met(0.019)));
}

TEST(Figures, OnlyTheNamedOneIsMeasured) {
  BenchOptions options;
  options.quick = true;
  const Readings readings = measure_figures(options, "fma_peak_gflops");
  EXPECT_GT(readings.values.at("fma_peak_gflops").median, 0.1);
  EXPECT_EQ(readings.values.at("fma_peak_gflops").count, 3U);
  EXPECT_FALSE(readings.values.contains("native_peak_share"));
  EXPECT_FALSE(readings.values.contains("job_seconds"));
  EXPECT_TRUE(readings.values.contains("native_step_ms"));
}

class FiguresSlow : public testing::TestWithParam<FigureEntry> {};

TEST_P(FiguresSlow, HasAValueOrSaysWhyNot) {
  BenchOptions options;
  options.quick = true;
  options.threads = 2;
  const std::string name(GetParam().name);
  const Readings readings = measure_figures(options, name);
  if (!readings.values.contains(name)) {
    ASSERT_TRUE(readings.notes.contains(name)) << name;
    GTEST_SKIP() << name << ": " << readings.notes.at(name);
  }
  EXPECT_GT(readings.values.at(name).median, 0);
  for (const FigureEntry& other : known_figures()) {
    EXPECT_EQ(readings.values.contains(std::string(other.name)), other.name == GetParam().name) << other.name;
  }
}
INSTANTIATE_TEST_SUITE_P(Every, FiguresSlow, testing::ValuesIn(known_figures()),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(MemorySlow, AThousandClientsFitIntoTheirModels) {
  BenchOptions options;
  options.quick = true;
  const Readings readings = measure_figures(options, "map_aggregate_memory_k1000");
  if (!readings.values.contains("map_aggregate_memory_k1000")) {
    GTEST_SKIP() << readings.notes.at("map_aggregate_memory_k1000");
  }
  EXPECT_LE(readings.values.at("map_aggregate_memory_k1000").median, 1.2);
}

}  // namespace
}  // namespace feroma
