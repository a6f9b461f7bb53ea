#include "feroma/sweep/folder.h"

#include <gtest/gtest.h>

#include "tests/data/own_folder_fixture.h"
#include "tests/sweep/table_sweep.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;
using test::holds;
using test::refusal_of;
using test::Warnings;

class SweepFolderTest : public test::TableSweep {
 protected:
  [[nodiscard]] Sweep one() const { return sweep("[sweep]\nbase = 'base.toml'\nalgorithms = 'fedavg'\n"); }
  /// A cell with the key of this one that is another; nobody has found two by chance.
  static SweepCell with_the_key_of(SweepCell cell) {
    char& last = cell.hash.back();
    last = last == '0' ? '1' : '0';
    return cell;
  }
};

TEST_F(SweepFolderTest, IsTakenByOneSweepAtATime) {
  const SweepFolder first(out());
  EXPECT_TRUE(holds(refusal_of(ErrorCode::invalid_config, [&] { SweepFolder second(out()); }),
                    "another sweep is running in this folder"));
}

TEST_F(SweepFolderTest, ASweepMayComeBackAndAForeignFolderIsLeftAlone) {
  { const SweepFolder first(out()); }
  { const SweepFolder again(out()); }
  fs::create_directories(folder() / "thesis");
  write("thesis/thesis.tex", "years");
  EXPECT_TRUE(holds(refusal_of(ErrorCode::invalid_config, [&] { SweepFolder foreign(folder() / "thesis"); }),
                    "must be a new or empty folder or that of a sweep"));
  EXPECT_FALSE(fs::exists(folder() / "thesis" / "cells"));
}

TEST_F(SweepFolderTest, RemembersWhichSweepAskedForWhichCells) {
  const SweepFolder taken(out());
  const Sweep grid = one();
  taken.remember(grid);
  const std::vector<SweepList> lists = read_sweep_lists(out());
  ASSERT_EQ(lists.size(), 1U);
  EXPECT_EQ(lists[0].name, "grid");
  EXPECT_EQ(lists[0].points, (std::map<std::string, std::string>{{grid.cells[0].key, "base"}}));
}

TEST_F(SweepFolderTest, ALaterCallWithOtherSeedsKeepsTheCellsOfTheFirst) {
  const std::string text = "[sweep]\nbase = 'base.toml'\n";
  const Sweep first = sweep(text, {.seeds = {1}, .algorithms = {}, .overrides = {}});
  const Sweep second = sweep(text, {.seeds = {2, 3}, .algorithms = {"fedavg"}, .overrides = {}});
  run(first);
  run(second);
  const std::vector<SweepList> lists = read_sweep_lists(out());
  ASSERT_EQ(lists.size(), 1U);
  EXPECT_EQ(lists[0].points.size(), 4U) << "two algorithms of seed 1, one of seeds 2 and 3";
  for (const Sweep* one : {&first, &second}) {
    for (const SweepCell& cell : one->cells) {
      EXPECT_TRUE(lists[0].points.contains(cell.key)) << describe(cell);
    }
  }
}

TEST_F(SweepFolderTest, ADamagedListOfAnotherSweepIsLeftAlone) {
  { const SweepFolder first(out()); }
  const std::string garbage = "cell = [[[";
  write("out/sweeps/other.toml", garbage);
  const Warnings warnings;
  EXPECT_EQ(run(one())[0].state, CellState::done);
  EXPECT_TRUE(holds(warnings.text(), "left out of the results: "));
  EXPECT_TRUE(holds(warnings.text(), "other.toml"));
  EXPECT_EQ(read_text(out() / "sweeps" / "other.toml"), garbage);
  const std::vector<SweepList> lists = read_sweep_lists(out());
  ASSERT_EQ(lists.size(), 1U);
  EXPECT_EQ(lists[0].name, "grid");
}

TEST_F(SweepFolderTest, ADamagedListOfTheSweepItselfIsBegunAgain) {
  { const SweepFolder first(out()); }
  write("out/sweeps/grid.toml", "cell = [[[");
  const Warnings warnings;
  EXPECT_EQ(run(one())[0].state, CellState::done);
  EXPECT_TRUE(holds(warnings.text(), "begun again: "));
  const std::vector<SweepList> lists = read_sweep_lists(out());
  ASSERT_EQ(lists.size(), 1U);
  EXPECT_EQ(lists[0].points.size(), 1U);
}

TEST_F(SweepFolderTest, AFailureIsKeptWithItsConfigUntilItIsForgotten) {
  const SweepFolder taken(out());
  const SweepCell cell = one().cells[0];
  EXPECT_EQ(read_cell(out(), cell.key).state, CellState::pending);
  taken.note_failure(cell, "no \"luck\"\nat \xff all");
  const CellRecord failed = read_cell(out(), cell.key);
  EXPECT_EQ(failed.state, CellState::failed);
  EXPECT_EQ(failed.reason, "no \"luck\"\nat ? all") << "a config file holds no bytes that are no text";
  EXPECT_EQ(std::get<std::string>(failed.config.at("algorithm.0.name").value), "fedavg");
  EXPECT_EQ(read_cells(out()).size(), 1U);
  taken.forget_failure(cell.key);
  EXPECT_EQ(read_cell(out(), cell.key).state, CellState::pending);
}

TEST_F(SweepFolderTest, ACellIsWhatItsConfigSays) {
  const Sweep grid = one();
  const std::string& key = grid.cells[0].key;
  ASSERT_EQ(run(grid)[0].state, CellState::done);
  EXPECT_EQ(read_cell(out(), key).state, CellState::done);
  fs::rename(cell_folder(out(), key), cell_folder(out(), "0123456789abcdef"));
  EXPECT_TRUE(
      holds(refusal_of(ErrorCode::invalid_data, [&] { static_cast<void>(read_cell(out(), "0123456789abcdef")); }),
            "must be the one that the folder is named after"));
  EXPECT_TRUE(read_cells(out()).empty()) << "it is no result of anything";
}

TEST_F(SweepFolderTest, AnotherCellWithTheSameKeyIsRefused) {
  const Sweep grid = one();
  run(grid);
  Sweep other = grid;
  other.cells[0] = with_the_key_of(grid.cells[0]);
  EXPECT_TRUE(holds(refusal_of(ErrorCode::invalid_config, [&] { run(other); }),
                    "holds another cell with the key " + grid.cells[0].key));
  EXPECT_EQ(look_at_cell(out(), grid.cells[0]).state, CellState::done);
}

TEST_F(SweepFolderTest, TheFailureOfAnotherCellWithTheSameKeyIsRefused) {
  const SweepFolder taken(out());
  const SweepCell cell = one().cells[0];
  taken.note_failure(cell, "no luck");
  EXPECT_EQ(look_at_cell(out(), cell).state, CellState::failed);
  EXPECT_TRUE(holds(
      refusal_of(ErrorCode::invalid_config, [&] { static_cast<void>(look_at_cell(out(), with_the_key_of(cell))); }),
      "holds another cell with the key " + cell.key));
}

TEST_F(SweepFolderTest, ARunThatDidNotEndIsInterrupted) {
  const SweepCell cell = one().cells[0];
  { const RunDirectory begun(cell_folder(out(), cell.key), Existing::refuse, cell.experiment, 1); }
  const CellRecord record = read_cell(out(), cell.key);
  EXPECT_EQ(record.state, CellState::interrupted);
  EXPECT_FALSE(record.result);
}

}  // namespace
}  // namespace feroma
