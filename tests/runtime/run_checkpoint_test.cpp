#include "runtime/run_checkpoint.h"

#include <gtest/gtest.h>

#include "tests/data/synthetic.h"

namespace feroma {
namespace {

TEST(RunCheckpoint, EveryFieldSurvives) {
  const test::ScratchFolder scratch;
  const std::filesystem::path path = scratch.path() / "run.ckpt";
  RunCheckpoint checkpoint;
  checkpoint.results.resize(2);
  checkpoint.results[0].label = "fedavg";
  checkpoint.results[1].label = "feroma-auto";
  checkpoint.results[1].accuracy = 81.25;
  checkpoint.sizes = {100, 200, 300};
  checkpoint.loop = {std::byte{1}, std::byte{2}};
  checkpoint.last_round.clients.resize(1);
  checkpoint.last_round.clients[0].client = 7;
  checkpoint.last_round.clients[0].distribution = 3;
  checkpoint.last_round.clients[0].accuracy_after = 62.5;
  checkpoint.releases["client-7"]["job"] = {3, 0.5, 1.5};
  checkpoint.releases["test-0"]["job"] = {1, 0.25, {}};
  checkpoint.input_scale = {0.5F, -1.0F};
  write_run_checkpoint(path, checkpoint);
  const RunCheckpoint read = read_run_checkpoint(path);
  ASSERT_EQ(read.results.size(), 2U);
  EXPECT_EQ(read.results[1].label, "feroma-auto");
  EXPECT_EQ(read.results[1].accuracy, 81.25);
  EXPECT_EQ(read.sizes, checkpoint.sizes);
  EXPECT_EQ(read.loop, checkpoint.loop);
  ASSERT_EQ(read.last_round.clients.size(), 1U);
  EXPECT_EQ(read.last_round.clients[0].client, 7U);
  EXPECT_EQ(read.last_round.clients[0].distribution, 3);
  EXPECT_EQ(read.last_round.clients[0].accuracy_after, 62.5);
  EXPECT_EQ(read.releases, checkpoint.releases);
  EXPECT_EQ(read.input_scale, checkpoint.input_scale);
}

}  // namespace
}  // namespace feroma
