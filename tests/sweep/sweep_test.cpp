#include "feroma/sweep/sweep.h"

#include <gtest/gtest.h>

#include <functional>
#include <mutex>

#include "feroma/core/config_identity.h"
#include "tests/sweep/table_sweep.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;
using test::holds;
using test::refusal_of;

class RunSweep : public test::TableSweep {
 protected:
  static std::size_t count(const std::vector<CellOutcome>& outcomes, CellState state) {
    return static_cast<std::size_t>(
        std::count_if(outcomes.begin(), outcomes.end(), [&](const CellOutcome& o) { return o.state == state; }));
  }
  static std::size_t count_run(const std::vector<CellOutcome>& outcomes) {
    return static_cast<std::size_t>(
        std::count_if(outcomes.begin(), outcomes.end(), [](const CellOutcome& o) { return o.ran; }));
  }
  static SweepOptions resumed() {
    SweepOptions options;
    options.resume = true;
    return options;
  }
  /// Damages a finished cell and expects that it comes out as before, while the other one is left alone.
  void expect_begun_again(const std::function<void(const fs::path&)>& damage) const {
    const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\n");
    run(grid);
    const std::map<std::string, std::string> whole = bits(grid, out());
    const fs::path cell = cell_folder(out(), grid.cells[0].key);
    std::ofstream(cell / "models" / "left.over") << "of the damaged run";
    damage(cell);
    EXPECT_TRUE(holds(refusal_of(ErrorCode::invalid_config, [&] { run(grid); }), "1 of the 2 cells"));
    const std::vector<CellOutcome> outcomes = run(grid, resumed());
    EXPECT_EQ(outcomes[0].state, CellState::done) << outcomes[0].reason;
    EXPECT_EQ(count_run(outcomes), 1U);
    EXPECT_EQ(bits(grid, out()), whole);
    EXPECT_EQ(count_run(run(grid)), 0U) << "it is whole again";
  }
  /// Everything that a cell tells, but times and memory.
  [[nodiscard]] std::map<std::string, std::string> bits(const Sweep& grid, const fs::path& where) const {
    std::map<std::string, std::string> out;
    for (const SweepCell& cell : grid.cells) {
      const fs::path folder = cell_folder(where, cell.key);
      out[cell.key] = figures(folder).dump() + read_text(folder / "clients.csv") + read_text(folder / "config.toml");
      for (const auto& file : fs::directory_iterator(folder / "models")) {
        out[cell.key] += file.path().filename().string() + read_text(file.path());
      }
    }
    return out;
  }
};

TEST_F(RunSweep, ACellIsAnOrdinaryRun) {
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\nalgorithms = 'fedprox'\n");
  const std::vector<CellOutcome> outcomes = run(grid);
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_TRUE(outcomes[0].ran);
  const fs::path cell = cell_folder(out(), grid.cells[0].key);
  for (const char* file : {"manifest.json", "metrics.csv", "events.jsonl", "summary.json", "report.html", "store.db"}) {
    EXPECT_TRUE(fs::exists(cell / file)) << file;
  }
  RunOptions options;
  options.out = folder() / "by-hand";
  const std::vector<ResultRecord> by_hand = run_config(cell / "config.toml", options);
  EXPECT_EQ(figures(options.out), figures(cell)) << "its config gives the same bits";
  EXPECT_EQ(by_hand[0].accuracy, outcomes[0].result->accuracy);
}

TEST_F(RunSweep, NoCellRunsTwice) {
  const std::string text = "[sweep]\nbase = 'base.toml'\n[axes]\nscenario.clients = [2, 3]\n";
  EXPECT_EQ(count_run(run(sweep(text))), 4U);
  const std::vector<CellOutcome> again = run(sweep(text));
  EXPECT_EQ(count_run(again), 0U);
  EXPECT_EQ(count(again, CellState::done), 4U);
  EXPECT_TRUE(again[0].result) << "what was found is told";
  const std::string more = "[sweep]\nname = 'more'\nbase = 'base.toml'\n[axes]\nscenario.clients = [3, 4, 2]\n";
  const std::vector<CellOutcome> extended = run(sweep(more));
  EXPECT_EQ(extended.size(), 6U);
  EXPECT_EQ(count_run(extended), 2U) << "only what is new";
}

// Cells are named before data are read; a model that the table does not bear gives way in the run alone.
TEST_F(RunSweep, ACellWhoseDefaultsGaveWayIsDone) {
  std::string base = read_text(folder() / "base.toml");
  const std::string model = "model = 'mlp'\n";
  base.erase(base.find(model), model.size());
  write("base.toml", base);
  const std::string text = "[sweep]\nbase = 'base.toml'\n";
  const Sweep grid = sweep(text);
  EXPECT_EQ(grid.cells[0].experiment.training.model, "lenet5");
  EXPECT_EQ(count_run(run(grid)), 2U);
  const fs::path cell = cell_folder(out(), grid.cells[0].key);
  EXPECT_EQ(to_string(load_settings(cell / "config.toml").at("training.model").value), "\"mlp\"");
  const std::vector<CellOutcome> again = run(sweep(text));
  EXPECT_EQ(count_run(again), 0U);
  EXPECT_EQ(count(again, CellState::done), 2U);
  fs::remove(cell / "summary.json");
  SweepOptions resume;
  resume.resume = true;
  EXPECT_EQ(count_run(run(sweep(text), resume)), 1U) << "it goes on from its checkpoint";
}

TEST_F(RunSweep, ParallelCellsHaveTheBitsOfSequentialOnes) {
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\nseeds = [1, 2, 3]\n");
  SweepOptions one;
  one.out = folder() / "one";
  one.jobs = 1;
  one.threads = 3;
  run(grid, one);
  SweepOptions many;
  many.out = folder() / "many";
  many.jobs = 4;
  many.threads = 1;
  EXPECT_EQ(count(run(grid, many), CellState::done), 6U);
  EXPECT_EQ(bits(grid, many.out), bits(grid, one.out));
}

TEST_F(RunSweep, AFailedCellIsNotedAndTheOthersGoOn) {
  // There are not so many samples, which is known only once the data are read.
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\n[axes]\nscenario.clients = [5000, 2]\n");
  const std::vector<CellOutcome> outcomes = run(grid);
  EXPECT_EQ(count(outcomes, CellState::failed), 2U);
  EXPECT_EQ(count(outcomes, CellState::done), 2U);
  EXPECT_TRUE(holds(outcomes[0].reason, "scenario.clients"));
  EXPECT_TRUE(holds(read_cell(out(), grid.cells[0].key).reason, "scenario.clients"));
  EXPECT_TRUE(holds(refusal_of(ErrorCode::invalid_config, [&] { run(grid); }),
                    "2 of the 4 cells were interrupted or failed there; use --resume"));
  const std::vector<CellOutcome> again = run(grid, resumed());
  EXPECT_EQ(count_run(again), 2U) << "failed cells are tried again";
  EXPECT_EQ(count(again, CellState::failed), 2U);
}

TEST_F(RunSweep, AFailureIsForgottenOnceTheCellSucceeds) {
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\nalgorithms = 'fedavg'\n");
  fs::rename(folder() / "table" / "rows.csv", folder() / "rows.csv");
  EXPECT_EQ(run(grid)[0].state, CellState::failed);
  fs::rename(folder() / "rows.csv", folder() / "table" / "rows.csv");
  EXPECT_EQ(run(grid, resumed())[0].state, CellState::done);
  EXPECT_EQ(count_run(run(grid)), 0U);
  EXPECT_EQ(read_cells(out()).at(0).state, CellState::done);
}

TEST_F(RunSweep, AnInterruptedCellGoesOnToTheSameBits) {
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\nalgorithms = 'fedavg'\n[axes]\nscenario.rounds = [6, 7]\n");
  SweepOptions whole;
  whole.out = folder() / "whole";
  run(grid, whole);
  SweepOptions stopped;
  stopped.jobs = 1;
  stopped.observer.progressed = [this](const SweepProgress& progress) { stop_ = progress.share > 0.2; };
  const std::vector<CellOutcome> outcomes = run(grid, stopped);
  EXPECT_EQ(outcomes[0].state, CellState::interrupted);
  EXPECT_EQ(outcomes[1].state, CellState::pending);
  stop_ = false;
  EXPECT_TRUE(holds(refusal_of(ErrorCode::invalid_config, [&] { run(grid); }), "1 of the 2 cells were interrupted"));
  EXPECT_EQ(count(run(grid, resumed()), CellState::done), 2U);
  EXPECT_EQ(bits(grid, out()), bits(grid, whole.out));
  EXPECT_TRUE(holds(read_text(cell_folder(out(), grid.cells[0].key) / "events.jsonl"), "run_resumed"));
}

TEST_F(RunSweep, AnInterruptedCellWhoseDataMovedBeginsAnew) {
  const std::string text = "[sweep]\nbase = 'base.toml'\nalgorithms = 'fedavg'\n";
  const SweepCell begun = sweep(text).cells[0];
  { const RunDirectory left(cell_folder(out(), begun.key), Existing::refuse, begun.experiment, 1); }
  const Sweep moved = sweep(text, {.seeds = {}, .algorithms = {}, .overrides = {"scenario.data_dir=/elsewhere"}});
  EXPECT_EQ(run(moved, resumed())[0].state, CellState::done);
  EXPECT_EQ(to_toml(config_identity().of(load_settings(cell_folder(out(), begun.key) / "config.toml"))),
            to_toml(config_identity().of(parse_settings(moved.cells[0].config, "cell"))));
}

TEST_F(RunSweep, ACellWithoutItsSummaryIsFinishedFromItsCheckpoint) {
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\nalgorithms = 'fedavg'\n");
  run(grid);
  const fs::path cell = cell_folder(out(), grid.cells[0].key);
  std::ofstream(cell / "summary.json") << "{";
  std::ofstream(cell / "models" / "left.over") << "of the same run";
  refusal_of(ErrorCode::invalid_config, [&] { run(grid); });
  EXPECT_EQ(run(grid, resumed())[0].state, CellState::done);
  EXPECT_TRUE(fs::exists(cell / "models" / "left.over")) << "its checkpoint has everything";
}

TEST_F(RunSweep, ACellWithATruncatedManifestIsBegunAgain) {
  expect_begun_again([](const fs::path& cell) { fs::resize_file(cell / "manifest.json", 40); });
}

TEST_F(RunSweep, ACellWithAnEmptyConfigIsBegunAgain) {
  expect_begun_again([](const fs::path& cell) { fs::resize_file(cell / "config.toml", 0); });
}

TEST_F(RunSweep, ACellWhoseConfigIsNoTomlIsBegunAgain) {
  expect_begun_again([](const fs::path& cell) { std::ofstream(cell / "config.toml") << "[scenario\n"; });
}

TEST_F(RunSweep, ACellThatHasLostItsConfigIsBegunAgain) {
  expect_begun_again([](const fs::path& cell) { fs::remove(cell / "config.toml"); });
}

TEST_F(RunSweep, ACellThatHasLostItsManifestIsBegunAgain) {
  expect_begun_again([](const fs::path& cell) { fs::remove(cell / "manifest.json"); });
}

TEST_F(RunSweep, ACellWithTheConfigOfAnotherIsBegunAgain) {
  expect_begun_again([](const fs::path& cell) { std::ofstream(cell / "config.toml", std::ios::app) << "mu = 7\n"; });
}

TEST_F(RunSweep, ACellOfALaterVersionIsNotRemoved) {
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\nalgorithms = 'fedavg'\n");
  run(grid);
  const fs::path cell = cell_folder(out(), grid.cells[0].key);
  const std::string summary = read_text(cell / "summary.json");
  std::string manifest = read_text(cell / "manifest.json");
  const std::string schema = "\"schema\": 1";
  ASSERT_NE(manifest.find(schema), std::string::npos);
  manifest.replace(manifest.find(schema), schema.size(), "\"schema\": 2");
  write_file_atomically(cell / "manifest.json", manifest);
  const std::vector<CellOutcome> outcomes = run(grid, resumed());
  EXPECT_EQ(outcomes[0].state, CellState::failed);
  EXPECT_TRUE(holds(outcomes[0].reason, "schema 2 is newer"));
  EXPECT_EQ(read_text(cell / "summary.json"), summary);
}

TEST_F(RunSweep, AFolderOfSomethingElseIsRefusedByName) {
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\n");
  const fs::path thesis = cell_folder(out(), grid.cells[0].key);
  const fs::path site = cell_folder(out(), grid.cells[1].key);
  // The names of the second are those of a run, but for one.
  const std::map<fs::path, std::string> files{{thesis / "thesis.tex", "years"},
                                              {site / "config.toml", "title = 'my site'\n"},
                                              {site / "manifest.json", "{\"name\": \"my site\"}"},
                                              {site / "index.html", "<p>hello</p>"}};
  for (const auto& [file, text] : files) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  const std::vector<CellOutcome> outcomes = run(grid, resumed());
  EXPECT_EQ(count(outcomes, CellState::failed), 2U);
  EXPECT_TRUE(holds(outcomes[0].reason, thesis.string() + ": must be a new or empty folder or an earlier run"));
  EXPECT_TRUE(holds(outcomes[1].reason, site.string() + ": must hold nothing but a run to be begun again, and it holds "
                                                        "index.html"));
  for (const auto& [file, text] : files) {
    EXPECT_EQ(read_text(file), text) << file;
  }
}

TEST_F(RunSweep, ACellWhoseAlgorithmIsNotApplicableIsDone) {
  // Its clients tell exact counts, which no guarded mode allows.
  const Sweep grid =
      sweep("[sweep]\nbase = 'base.toml'\nalgorithms = 'fedavg'\n[axes]\nprivacy.mode = ['gaussian', 'off']\n");
  std::vector<SweepProgress> seen;
  SweepOptions options;
  options.jobs = 1;
  options.observer.finished = [&](const SweepCell&, const CellOutcome&, const SweepProgress& progress) {
    seen.push_back(progress);
  };
  const std::vector<CellOutcome> outcomes = run(grid, options);
  EXPECT_EQ(outcomes[0].state, CellState::done) << outcomes[0].reason;
  EXPECT_TRUE(holds(why_not_applicable(outcomes[0].result), "privacy.mode gaussian does not allow"));
  EXPECT_EQ(outcomes[1].state, CellState::done);
  EXPECT_EQ(why_not_applicable(outcomes[1].result), "");
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].not_applicable, 1U);
  EXPECT_GT(*seen[0].seconds_left, 0) << "the other cell is still to do";
  EXPECT_EQ(seen[1].done, 2U);
  EXPECT_EQ(seen[1].not_applicable, 1U);
  EXPECT_EQ(seen[1].failed, 0U);
}

TEST_F(RunSweep, WhatIsNotApplicableIsKeptAndNotTriedAgain) {
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\nalgorithms = 'fedavg'\n[axes]\nprivacy.mode = 'gaussian'\n");
  const std::string& key = grid.cells[0].key;
  run(grid);
  const nlohmann::json result = figures(cell_folder(out(), key))["results"].at(0);
  EXPECT_TRUE(holds(result["not_applicable"].get<std::string>(), "privacy.mode gaussian does not allow"));
  EXPECT_TRUE(result["accuracy"].is_null());
  EXPECT_EQ(result["label"], "fedavg");
  EXPECT_FALSE(fs::exists(out() / "cells" / (key + ".failed.toml")));
  const std::vector<CellOutcome> again = run(grid);
  EXPECT_EQ(count_run(again), 0U);
  EXPECT_EQ(why_not_applicable(again[0].result), result["not_applicable"].get<std::string>());
  EXPECT_EQ(count_run(run(grid, resumed())), 0U);
}

TEST_F(RunSweep, DataCanMakeAnAlgorithmNotApplicable) {
  write("table/dataset.toml", "[dataset]\nkind = \"csv\"\nfile = \"rows.csv\"\nlabel_column = \"y, z\"\n");
  std::string rows = "x,y,z\n";
  for (int i = 0; i < 120; ++i) {
    rows += fmt::format("{},{},{}\n", i % 7, i % 7 < 3 ? 0 : 1, i % 2);
  }
  write("table/rows.csv", rows);
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\n[[algorithm]]\nname = 'atp'\n");
  const CellOutcome outcome = run(grid).at(0);
  EXPECT_EQ(outcome.state, CellState::done) << outcome.reason;
  EXPECT_TRUE(holds(why_not_applicable(outcome.result), "got multi-label data"));
}

TEST_F(RunSweep, CellsOfSeveralInstructionSetsDoNotMeet) {
  const std::vector<SimdTarget> targets = simd_targets();
  if (targets.size() < 2) {
    GTEST_SKIP() << "this machine has one instruction set only: cells of two are NOT tested";
  }
  const Sweep grid = sweep(
      fmt::format("[sweep]\nbase = 'base.toml'\n[axes]\ntraining.simd = ['{}', '{}']\nscenario.clients = [2, 3]\n",
                  name_of(targets[0]), name_of(targets.back())));
  SweepOptions options;
  options.jobs = 4;
  EXPECT_EQ(count(run(grid, options), CellState::done), 8U);
}

/// The cell as another machine would have run it: with the same bits, or with others.
SweepCell on_another_machine(const SweepCell& cell, bool same_bits) {
  const bool fused = has_fused_products(cell.experiment.simd());
  for (const auto& [target, name] : enum_names(SimdTarget{})) {
    if (target != SimdTarget::automatic && target != cell.experiment.simd() &&
        (has_fused_products(target) == fused) == same_bits) {
      Experiment experiment = cell.experiment;
      experiment.training.simd = target;
      return make_cell(std::move(experiment), cell.point);
    }
  }
  ADD_FAILURE() << "there is no such instruction set";
  return cell;
}

class FinishedElsewhere : public RunSweep {
 protected:
  /// Runs a cell here, and leaves what a machine of the other kind would have left.
  [[nodiscard]] SweepCell run_elsewhere(const SweepCell& cell, bool same_bits) const {
    SweepCell other = on_another_machine(cell, same_bits);
    run(Sweep{"grid", "grid.toml", {cell}});
    fs::rename(cell_folder(out(), cell.key), cell_folder(out(), other.key));
    std::ofstream(cell_folder(out(), other.key) / "config.toml") << other.config;
    return other;
  }
  [[nodiscard]] Sweep one(const std::string& more = "") const {
    return sweep("[sweep]\nbase = 'base.toml'\nalgorithms = 'fedavg'\n" + more);
  }
};

TEST_F(FinishedElsewhere, IsNotRunAgainWhereTheBitsAreTheSame) {
  const Sweep grid = one();
  const SweepCell other = run_elsewhere(grid.cells[0], /*same_bits=*/true);
  const Sweep found = with_finished_elsewhere(grid, out());
  EXPECT_EQ(found.cells[0].key, other.key);
  const std::vector<CellOutcome> outcomes = run(found);
  EXPECT_EQ(outcomes[0].state, CellState::done);
  EXPECT_EQ(count_run(outcomes), 0U);
  EXPECT_TRUE(outcomes[0].result);
}

TEST_F(FinishedElsewhere, IsRunAgainWhereTheBitsDiffer) {
  const Sweep grid = one();
  const SweepCell other = run_elsewhere(grid.cells[0], /*same_bits=*/false);
  EXPECT_EQ(with_finished_elsewhere(grid, out()).cells[0].key, grid.cells[0].key);
}

TEST_F(FinishedElsewhere, DoesNotStandInForAnInstructionSetThatWasAskedFor) {
  const Sweep grid = one();
  const SweepCell other = run_elsewhere(grid.cells[0], /*same_bits=*/true);
  const Sweep asked = one(fmt::format("[axes]\ntraining.simd = ['{}']\n", name_of(simd_targets().front())));
  EXPECT_EQ(asked.cells[0].key, grid.cells[0].key);
  EXPECT_EQ(with_finished_elsewhere(asked, out()).cells[0].key, grid.cells[0].key);
}

TEST_F(FinishedElsewhere, IsNeededOnlyWhereNothingIsDoneHere) {
  const Sweep grid = one();
  const SweepCell other = run_elsewhere(grid.cells[0], /*same_bits=*/true);
  run(grid);
  EXPECT_EQ(with_finished_elsewhere(grid, out()).cells[0].key, grid.cells[0].key);
}

TEST_F(FinishedElsewhere, MustBeFinished) {
  const Sweep grid = one();
  const SweepCell other = run_elsewhere(grid.cells[0], /*same_bits=*/true);
  const fs::path manifest = cell_folder(out(), other.key) / "manifest.json";
  nlohmann::json json = nlohmann::json::parse(read_text(manifest));
  json["ended"] = nullptr;
  std::ofstream(manifest) << json.dump();
  EXPECT_EQ(with_finished_elsewhere(grid, out()).cells[0].key, grid.cells[0].key);
}

TEST_F(FinishedElsewhere, IsNoSecondCellOfOneSweep) {
  const Sweep grid = one();
  const SweepCell other = run_elsewhere(grid.cells[0], /*same_bits=*/true);
  const Sweep both = with_finished_elsewhere(Sweep{"grid", "grid.toml", {grid.cells[0], other}}, out());
  EXPECT_EQ(both.cells[0].key, grid.cells[0].key);
  EXPECT_EQ(both.cells[1].key, other.key);
}

TEST_F(RunSweep, TellsHowFarItIs) {
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\nseeds = [1, 2]\n");
  std::vector<SweepProgress> seen;
  SweepOptions options;
  options.jobs = 2;
  options.threads = 1;
  options.observer.started = [&](const WorkPlan& plan, const SweepProgress& progress) {
    EXPECT_EQ(plan, (WorkPlan{2, 1}));
    EXPECT_EQ(progress.cells, 4U);
    EXPECT_EQ(progress.done, 0U);
    EXPECT_TRUE(progress.seconds_left);
  };
  options.observer.finished = [&](const SweepCell&, const CellOutcome&, const SweepProgress& progress) {
    seen.push_back(progress);
  };
  run(grid, options);
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_EQ(seen[0].done, 1U);
  EXPECT_GT(*seen[0].seconds_left, 0);
  EXPECT_EQ(seen[3].done, 4U);
  EXPECT_EQ(seen[3].running, 0U);
  EXPECT_DOUBLE_EQ(seen[3].share, 1);
  EXPECT_DOUBLE_EQ(*seen[3].seconds_left, 0);
}

TEST_F(RunSweep, ATrainingStepIsTimedOncePerModelAndBatch) {
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\nalgorithms = 'fedavg'\n[axes]\nscenario.rounds = [1, 2]\n");
  SharedDatasets datasets;
  const std::vector<CellEstimate> estimates =
      estimate_cells(std::vector{&grid.cells[0], &grid.cells[1]}, datasets, stop_);
  EXPECT_DOUBLE_EQ(estimates[1].seconds, 2 * estimates[0].seconds) << "twice the steps, each of the same time";
}

TEST_F(RunSweep, EstimatesAreMadeOncePerKindAndNameWhatCannotRun) {
  const Sweep grid = sweep(
      "[sweep]\nbase = 'base.toml'\nseeds = [1, 2]\nalgorithms = 'fedavg'\n"
      "[axes]\nscenario.clients = [2, 5000]\n");
  SharedDatasets datasets;
  std::vector<const SweepCell*> cells;
  for (const SweepCell& cell : grid.cells) {
    cells.push_back(&cell);
  }
  const std::vector<CellEstimate> estimates = estimate_cells(cells, datasets, stop_);
  ASSERT_EQ(estimates.size(), 4U);
  EXPECT_GT(estimates[0].seconds, 0);
  EXPECT_GT(estimates[0].memory_bytes, 0);
  EXPECT_EQ(estimates[2].seconds, estimates[0].seconds) << "another seed is measured no second time";
  EXPECT_TRUE(holds(estimates[1].problem, "scenario.clients"));
  stop_ = true;
  refusal_of(ErrorCode::interrupted, [&] { static_cast<void>(estimate_cells(cells, datasets, stop_)); });
}

TEST_F(RunSweep, AnEstimateTellsWhatIsNotApplicableFromWhatCannotRun) {
  // Two numbers to a row are no picture that could be turned.
  std::string rows = "x,w,y\n";
  for (int i = 0; i < 120; ++i) {
    rows += fmt::format("{},{},{}\n", i % 7, i % 3, i % 7 < 3 ? 0 : 1);
  }
  write("table/rows.csv", rows);
  const Sweep grid = sweep(
      "[sweep]\nbase = 'base.toml'\nalgorithms = 'fedavg'\n[[variant]]\nprivacy.mode = 'gaussian'\n"
      "[[variant]]\nscenario.shift = 'covariate'\n");
  SharedDatasets datasets;
  const std::vector<CellEstimate> estimates =
      estimate_cells(std::vector{&grid.cells[0], &grid.cells[1]}, datasets, stop_);
  EXPECT_TRUE(holds(estimates[0].not_applicable, "privacy.mode gaussian does not allow"));
  EXPECT_EQ(estimates[0].problem, "");
  EXPECT_TRUE(holds(estimates[1].problem, "needs square pictures")) << "and so any algorithm";
  EXPECT_EQ(estimates[1].not_applicable, "");
}

}  // namespace
}  // namespace feroma
