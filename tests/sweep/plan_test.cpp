#include "feroma/sweep/plan.h"

#include <gtest/gtest.h>

namespace feroma {
namespace {

WorkWishes wishes(int jobs, int threads, int cores) { return {jobs, threads, cores, 0, 0}; }

TEST(PlanWork, RunsOneCellPerCoreWhereThereAreEnough) {
  EXPECT_EQ(plan_work(100, wishes(0, 0, 8)), (WorkPlan{8, 1}));
  EXPECT_EQ(plan_work(2, wishes(0, 0, 8)), (WorkPlan{2, 4})) << "few cells share the cores";
  EXPECT_EQ(plan_work(3, wishes(0, 0, 8)), (WorkPlan{3, 2}));
  EXPECT_EQ(plan_work(0, wishes(0, 0, 8)), (WorkPlan{1, 8}));
}

TEST(PlanWork, DoesWhatItIsTold) {
  EXPECT_EQ(plan_work(100, wishes(1, 0, 8)), (WorkPlan{1, 8}));
  EXPECT_EQ(plan_work(100, wishes(0, 4, 8)), (WorkPlan{2, 4}));
  EXPECT_EQ(plan_work(100, wishes(5, 3, 8)), (WorkPlan{5, 3}));
  EXPECT_EQ(plan_work(100, wishes(0, 20, 8)), (WorkPlan{1, 20}));
}

TEST(PlanWork, CellsThatDoNotFitIntoMemoryTogetherRunApart) {
  EXPECT_EQ(plan_work(100, {0, 0, 8, 1000, 4000}), (WorkPlan{3, 2})) << "three quarters of it may be used";
  EXPECT_EQ(plan_work(100, {0, 0, 8, 9000, 4000}), (WorkPlan{1, 8}));
  EXPECT_EQ(plan_work(100, {4, 0, 8, 9000, 4000}), (WorkPlan{4, 2})) << "whoever says how many knows why";
}

TEST(PlanWork, TheSystemSaysWhatIsFree) { EXPECT_GT(free_memory(), 1 << 20); }

TEST(TimeLeft, IsWhatIsExpectedUntilSomethingIsKnown) {
  EXPECT_DOUBLE_EQ(*TimeLeft({{"a", 10.0}, {"a", 10.0}, {"b", 20.0}}, 2).seconds(), 20.0);
  EXPECT_DOUBLE_EQ(*TimeLeft({{"a", 10.0}, {"b", 50.0}}, 2).seconds(), 50.0) << "no sooner than the longest cell";
  EXPECT_FALSE(TimeLeft({{"a", std::nullopt}}, 1).seconds());
  EXPECT_DOUBLE_EQ(*TimeLeft({}, 1).seconds(), 0.0);
}

TEST(TimeLeft, IsCorrectedByCellsOfTheSameAlgorithm) {
  TimeLeft time({{"a", 10.0}, {"a", 10.0}, {"b", 10.0}, {"b", 10.0}}, 1);
  time.finished(0, 30.0);
  EXPECT_DOUBLE_EQ(*time.seconds(), 90.0) << "all of them take three times as long";
  time.finished(2, 10.0);
  EXPECT_DOUBLE_EQ(*time.seconds(), 30.0 + 10.0) << "b does not";
  time.progressed(1, 0.5);
  EXPECT_DOUBLE_EQ(*time.seconds(), 15.0 + 10.0);
  time.dropped(1);
  EXPECT_DOUBLE_EQ(*time.seconds(), 10.0);
  time.finished(3, 9.0);
  EXPECT_DOUBLE_EQ(*time.seconds(), 0.0);
}

TEST(TimeLeft, AResumedCellTellsOfTheShareThatItDid) {
  TimeLeft time({{"a", 10.0}, {"a", 10.0}}, 1);
  time.finished(0, 5.0, 0.25);
  EXPECT_DOUBLE_EQ(*time.seconds(), 20.0);
  TimeLeft nothing({{"a", 10.0}, {"a", 10.0}}, 1);
  nothing.finished(0, 0.1, 0);
  EXPECT_DOUBLE_EQ(*nothing.seconds(), 10.0) << "only the end was missing: nothing is learned";
}

TEST(TimeLeft, CellsNobodyCouldEstimateCountAsTheMean) {
  TimeLeft time({{"a", 10.0}, {"b", std::nullopt}}, 1);
  EXPECT_DOUBLE_EQ(*time.seconds(), 10.0);
  time.finished(0, 12.0);
  EXPECT_DOUBLE_EQ(*time.seconds(), 12.0);
}

}  // namespace
}  // namespace feroma
