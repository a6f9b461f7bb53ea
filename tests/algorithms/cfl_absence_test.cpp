// Clients that miss a split, come late or stay away.
#include <gtest/gtest.h>

#include "tests/algorithms/scripted_cfl.h"

namespace feroma {
namespace {

using test::Groups;
using test::opposed;
using test::Scripted;
using test::Steps;

/// Four pull one way and three the other, by so much more that the mean is next to nothing.
Steps four_against_three(const std::set<std::uint32_t>& four) {
  Steps steps;
  for (std::uint32_t k = 0; k < 7; ++k) {
    const float pull = four.contains(k) ? 3.0F : -4.0F;
    steps[k] = {pull, pull, 0.01F * static_cast<float>(k)};
  }
  return steps;
}

/// Even clients go on one way and odd ones the other.
Steps apart(const std::vector<std::uint32_t>& clients) {
  Steps steps;
  for (const std::uint32_t k : clients) {
    steps[k] = {k % 2 == 0 ? 1.0F : -1.0F, 0.1F};
  }
  return steps;
}

TEST(CflAbsence, AbsentMembersFindTheirPartWhenTheyAreBack) {
  Scripted run;
  run.move_together(9, 3);
  run.play(four_against_three({0, 2, 4, 6}));  // 7 and 8 were not asked
  EXPECT_EQ(run.groups(), (Groups{{0, 2, 4, 6, 7, 8}, {1, 3, 5}}));
  EXPECT_EQ(run.received(7), run.received(0)) << "the larger part serves until it is known better";
  const float before = run.received(1)->values()[0];
  run.play(apart({0, 1, 2, 7, 8}));
  EXPECT_EQ(run.groups(), (Groups{{0, 2, 4, 6, 8}, {1, 3, 5, 7}}));
  EXPECT_EQ(run.received(7), run.received(1));
  EXPECT_FLOAT_EQ(run.received(1)->values()[0], before - 1) << "7 has not trained this model";
  run.play(apart({8, 7}));
  EXPECT_EQ(run.groups(), (Groups{{0, 2, 4, 6, 8}, {1, 3, 5, 7}}));
}

TEST(CflAbsence, NewcomersAreServedByTheLargestClusterAndMoveToTheirOwn) {
  Scripted run;
  run.move_together(7, 3);
  run.play(four_against_three({0, 2, 4, 6}));
  EXPECT_EQ(run.received(99), run.received(0));
  run.play(apart({1, 3, 99, 100}));
  EXPECT_EQ(run.received(99), run.received(0)) << "only one part was there to compare with";
  run.play(apart({0, 1, 99, 100}));
  EXPECT_EQ(run.groups(), (Groups{{0, 2, 4, 6, 100}, {1, 3, 5, 99}}));
}

TEST(CflAbsence, TheLargestClusterIsCountedAndNotTheFirst) {
  Scripted run;
  run.move_together(7, 3);
  run.play(four_against_three({1, 2, 3, 5}));
  ASSERT_EQ(run.groups(), (Groups{{0, 4, 6}, {1, 2, 3, 5}}));
  EXPECT_EQ(run.received(99), run.received(1));
}

// 13 was last seen before two splits, 12 before the second, so it may only go where its own cluster's members went.
TEST(CflAbsence, AClientFindsItsPartAfterSeveralSplits) {
  Scripted run;
  run.move_together(14, 3);
  Steps first = opposed(14, 5);
  first.erase(13);
  for (const std::uint32_t k : {1U, 3U, 5U, 7U, 9U, 11U}) {  // six against seven
    first[k][0] = first[k][1] = -5 * 7.0F / 6;
  }
  run.play(first);
  run.move_together(12, 1);
  Steps second;  // each child again; 12 and 13 are absent
  for (std::uint32_t k = 0; k < 12; ++k) {
    second[k] = {0, 0, k / 2 % 2 == 0 ? 5.0F : -5.0F};
  }
  run.play(second);
  Steps third = second;
  third[12] = {0, 0, 4};
  third[13] = {-4, -4, -4};
  for (std::uint32_t k = 0; k < 12; ++k) {  // what is left of the first split
    third[k][0] = third[k][1] = k % 2 == 0 ? 1.0F : -1.0F;
  }
  run.play(third);
  EXPECT_EQ(run.groups(), (Groups{{0, 4, 8, 12}, {1, 5, 9}, {2, 6, 10}, {3, 7, 11, 13}}));
}

TEST(CflAbsence, KnowsWhereAbsentClientsWereAfterLoading) {
  Scripted run;
  run.move_together(9, 3);
  run.play(four_against_three({0, 2, 4, 6}));
  run.play(apart({0, 1, 2}));
  ArchiveWriter archive;
  ModelWriter writer(archive);
  run.algorithm().save(writer);
  Scripted other;
  ArchiveReader reader(archive.bytes(), "state");
  ModelReader models(reader, make_layout(test::toy_model({1, 2, 2}, 2)));
  other.algorithm().load(models);
  reader.expect_end();
  EXPECT_EQ(other.groups(), run.groups());
  EXPECT_EQ(other.algorithm().clusters()->present, (std::vector{ClientId{0}, ClientId{1}, ClientId{2}}));
  other.play(apart({0, 1, 7, 8}));
  EXPECT_EQ(other.groups(), (Groups{{0, 2, 4, 6, 8}, {1, 3, 5, 7}}));
}

TEST(CflAbsence, AClusterThatNobodyAnsweredForKeepsItsModel) {
  Scripted run;
  run.move_together(6, 3);
  run.play(opposed(6, 5));
  const ParametersPtr odd = run.received(1);
  run.play({{0, {1}}, {2, {1}}});
  EXPECT_EQ(run.received(1), odd);
  run.play({});
  EXPECT_EQ(run.received(1), odd);
}

}  // namespace
}  // namespace feroma
