#include "algorithms/retention.h"

#include <gtest/gtest.h>

#include <utility>

namespace feroma {
namespace {

const ProfileShape kRetained{2, 1, 2, true};
constexpr int kRowsOfParent = 400;

/// A profile around `x`, off by what so many samples of standard deviation 1 would be.
Profile profile_at(double x, std::uint64_t seed) {
  Rng rng(seed);
  const auto value = [&] { return static_cast<float>(x + rng.normal() / 20); };
  return {{{value(), value()}, {1, 1}}, {{{value()}, {1}}, {{value()}, {1}}}, {0.5F, 0.5F}, kRowsOfParent};
}

Parent parent(std::uint32_t client, double x, Round round, double held_out) {
  return {ClientId{client}, nullptr, profile_at(x, 100 * client + static_cast<std::uint32_t>(round)), 80, round,
          held_out};
}

FeromaOptions keeping(int models) {
  FeromaOptions options;
  options.retained_models = models;
  return options;
}

std::vector<std::pair<std::uint32_t, Round>> kept(const FeromaOptions& options, std::span<const Parent> earlier,
                                                  std::span<const Parent> present) {
  std::vector<std::pair<std::uint32_t, Round>> names;
  for (const Parent& parent : retained_parents(options, kRetained, {}, earlier, present)) {
    names.emplace_back(to_index(parent.client), parent.round);
  }
  return names;
}

const std::vector<Parent> kPresent{parent(0, 0, 9, 90), parent(1, 0, 9, 90), parent(2, 5, 9, 90), parent(3, 5, 9, 90)};
using Names = std::vector<std::pair<std::uint32_t, Round>>;

TEST(Retention, KeepsWhatNoPresentModelIsNearTo) {
  const std::vector<Parent> earlier{parent(0, 5, 8, 88), parent(1, 20, 8, 88), parent(2, 0, 8, 88)};
  EXPECT_EQ(kept(keeping(5), earlier, kPresent), (Names{{1, 8}}));
  EXPECT_TRUE(kept(keeping(0), earlier, kPresent).empty());
}

TEST(Retention, TheNewestStandsForItsNeighbours) {
  const std::vector<Parent> earlier{parent(1, 20, 6, 88), parent(4, 20, 8, 88), parent(5, 40, 7, 88)};
  EXPECT_EQ(kept(keeping(5), earlier, kPresent), (Names{{4, 8}, {5, 7}}));
  EXPECT_EQ(kept(keeping(1), earlier, kPresent), (Names{{4, 8}}));
}

TEST(Retention, ARefusedNeighbourDoesNotStandForAnybody) {
  const std::vector<Parent> earlier{parent(4, 20, 8, 10), parent(1, 20, 6, 88)};
  EXPECT_EQ(kept(keeping(5), earlier, kPresent), (Names{{1, 6}}));
}

TEST(Retention, AModelMustHaveBeenGoodEnough) {
  const std::vector<Parent> earlier{parent(1, 20, 8, 71), parent(2, 40, 8, 73)};
  EXPECT_EQ(kept(keeping(5), earlier, kPresent), (Names{{2, 8}}));  // 80 % of 90 is 72
  FeromaOptions lenient = keeping(5);
  lenient.retention_accuracy = 0.5;
  EXPECT_EQ(kept(lenient, earlier, kPresent).size(), 2U);
}

TEST(Retention, DistanceSaysWhatIsNear) {
  FeromaOptions far = keeping(5);
  const std::vector<Parent> earlier{parent(1, 20, 8, 88)};
  far.retention_distance = 1e6;
  EXPECT_TRUE(kept(far, earlier, kPresent).empty());
}

TEST(Retention, WorksWithADistanceThatKnowsNoNoise) {
  FeromaOptions options = keeping(5);
  options.metric = Metric::euclidean;
  const std::vector<Parent> earlier{parent(0, 5, 8, 88), parent(1, 20, 8, 88), parent(2, 0, 8, 88)};
  options.retention_distance = 5;
  EXPECT_EQ(kept(options, earlier, kPresent), (Names{{1, 8}}));
  options.retention_distance = 1e4;
  EXPECT_TRUE(kept(options, earlier, kPresent).empty());
}

}  // namespace
}  // namespace feroma
