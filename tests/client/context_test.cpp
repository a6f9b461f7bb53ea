#include "feroma/client/context.h"

#include <gtest/gtest.h>

#include <thread>

namespace feroma {
namespace {

TEST(StageSeconds, AddStageByStage) {
  StageSeconds total;
  total[Stage::train] = 1.0;
  StageSeconds other;
  other[Stage::train] = 2.0;
  other[Stage::save] = 0.5;
  total += other;
  EXPECT_EQ(total.values, (std::array<double, 7>{0, 3.0, 0, 0, 0, 0, 0.5}));
}

TEST(StageSeconds, HasANameForEveryStage) {
  EXPECT_EQ(kStageNames[static_cast<std::size_t>(Stage::data)], "data");
  EXPECT_EQ(kStageNames[static_cast<std::size_t>(Stage::aggregate)], "aggregate");
  EXPECT_EQ(kStageNames[static_cast<std::size_t>(Stage::save)], "save");
}

TEST(StageTimer, AddsToWhatIsThere) {
  StageSeconds seconds;
  seconds[Stage::map] = 10.0;
  {
    const StageTimer timer(seconds, Stage::map);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_GE(seconds[Stage::map], 10.002);
  EXPECT_EQ(seconds[Stage::train], 0.0);
}

}  // namespace
}  // namespace feroma
