// The cells that are kept with the documentation stay what they are, whatever keys the program has got since.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "feroma/sweep/folder.h"
#include "feroma/sweep/sweep.h"
#include "tests/data/synthetic.h"
#include "tests/places.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

class KeptCells : public ::testing::Test {
 protected:
  void unpack(const std::string& members) const {
    const std::string archive = test::source_file("docs/results/cells.tar.gz").string();
    const std::string command = "tar -xzf '" + archive + "' -C '" + out().string() + "' --wildcards " + members;
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  [[nodiscard]] const fs::path& out() const { return scratch_.path(); }

 private:
  test::ScratchFolder scratch_;
};

/// FedAvg in the first cell of the main table on MNIST, seeds 42 to 46.
const std::map<std::int64_t, std::string> kHashes{
    {42, "6aa827ea1deb172c35f1e28a559c2ba5fbd115e6316221ee2e73aaa843bb168e"},
    {43, "d29e1bc280fe252da8e670c5723259e75bd713e3f73c649142f07ab268c51e7d"},
    {44, "29f27104f63921795bced24dc3745020af81c7122d385cc41ef2f71fde74cf42"},
    {45, "155c89a9c193bb663fa904c8979c9ca0a53506872475b5122db8bb48ce1f52e3"},
    {46, "9031aa4074ab359e3d20d8960fa34ee32797029d49d43db2b4863e4f73bff37b"},
};

TEST_F(KeptCells, KeepTheirHashes) {
  unpack("'*/config.toml'");
  for (const auto& [seed, hash] : kHashes) {
    EXPECT_EQ(cell_hash(load_settings(cell_folder(out(), hash.substr(0, 16)) / "config.toml")), hash) << seed;
  }
  std::size_t count = 0;
  for (const fs::directory_entry& cell : fs::directory_iterator(out() / "cells")) {
    EXPECT_EQ(cell_hash(load_settings(cell.path() / "config.toml")).substr(0, 16), cell.path().filename().string());
    ++count;
  }
  EXPECT_GE(count, 666U);
}

TEST_F(KeptCells, AreNotRunAgain) {
  if (!has_fused_products(simd_targets().front())) {
    GTEST_SKIP() << "the cells were run with fused products, and this machine has none";
  }
  for (const auto& [seed, hash] : kHashes) {
    unpack("'cells/" + hash.substr(0, 16) + "/*'");
  }
  const fs::path grid = out() / "five.toml";
  std::ofstream(grid) << "[sweep]\nbase = '" << test::source_file("configs/paper/mnist-px.toml").string() << "'\n"
                      << "seeds = [42, 43, 44, 45, 46]\nalgorithms = ['fedavg']\n[axes]\nscenario.level = 'low'\n"
                      << "scenario.drifts = 5\n";
  const Sweep sweep = with_finished_elsewhere(read_sweep(grid), out());
  ASSERT_EQ(sweep.cells.size(), kHashes.size());
  for (const SweepCell& cell : sweep.cells) {
    const std::int64_t seed = cell.experiment.scenario.seed;
    EXPECT_EQ(cell.hash, kHashes.at(seed)) << seed;
    EXPECT_EQ(look_at_cell(out(), cell).state, CellState::done) << seed;
  }
  const std::atomic<bool> stop = false;
  SweepOptions options;
  options.out = out();
  for (const CellOutcome& outcome : run_sweep(sweep, options, stop)) {
    EXPECT_FALSE(outcome.ran);
    EXPECT_EQ(outcome.state, CellState::done);
  }
}

}  // namespace
}  // namespace feroma
