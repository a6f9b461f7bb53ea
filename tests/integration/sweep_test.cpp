// `feroma sweep` as people use it; the real binary is killed and goes on.
#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/integration/cli_support.h"
#include "tests/places.h"

namespace feroma::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class SweepFiles : public CliFiles {
 protected:
  void SetUp() override {
    fs::create_directories(path("table"));
    write("table/dataset.toml", "[dataset]\nkind = \"csv\"\nfile = \"rows.csv\"\nlabel_column = \"y\"\n");
    std::string rows = "x,y\n";
    for (int i = 0; i < 120; ++i) {
      rows += fmt::format("{},{}\n", i % 7, i % 7 < 3 ? 0 : 1);
    }
    write("table/rows.csv", rows);
    write("base.toml",
          "[scenario]\ndataset = '" + path("table") +
              "'\nshift = 'iid'\ndrift_mode = 'static'\nclients = 2\nrounds = 2\ndrifts = 1\n"
              "[training]\nmodel = 'mlp'\n[[algorithm]]\nname = 'fedavg'\n[[algorithm]]\nname = 'fedprox'\n");
    write("grid.toml", "[sweep]\nbase = 'base.toml'\nseeds = [1, 2]\n");
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  [[nodiscard]] std::string sweep(const std::string& more = "") const {
    return "sweep " + path("grid.toml") + " --out " + path("out") + " " + more;
  }
};

class SweepCli : public SweepFiles {};

TEST_F(SweepCli, RunsTheGridAndSaysWhereTheResultsAre) {
  const Result first = feroma_cli(sweep());
  EXPECT_EQ(first.exit_code, 0);
  EXPECT_TRUE(contains(first.output, "results: " + path("out") + "/results.db")) << first.output;
  const Result lines = feroma_cli(sweep(), Stream::err);
  EXPECT_EQ(lines.exit_code, 0);
  EXPECT_TRUE(contains(lines.output, "4 cells, 4 done already")) << lines.output;
}

TEST_F(SweepCli, WritesOneLinePerCellIntoAPipe) {
  const Result lines = feroma_cli(sweep("--jobs 1"), Stream::err);
  for (const char* part :
       {"4 cells, 0 done already; 1 at once", "1/4 ", "4/4 ", "fedprox seed 2: accuracy", "left\n"}) {
    EXPECT_TRUE(contains(lines.output, part)) << part << " is not in\n" << lines.output;
  }
  EXPECT_FALSE(contains(lines.output, "\033")) << "no bar in a pipe";
}

TEST_F(SweepCli, DryRunRunsNothing) {
  const Result dry = feroma_cli(sweep("--dry-run --format json --seeds 7 --jobs 1 --threads 2"));
  ASSERT_EQ(dry.exit_code, 0);
  const json plan = json::parse(dry.output);
  ASSERT_EQ(plan["cells"].size(), 2U);
  EXPECT_EQ(plan["cells"][0]["status"], "pending");
  EXPECT_EQ(plan["cells"][0]["seed"], 7);
  EXPECT_GT(plan["cells"][0]["seconds"], 0);
  EXPECT_EQ(plan["jobs"], 1);
  EXPECT_EQ(plan["threads"], 2);
  EXPECT_GT(plan["seconds"], 0);
  EXPECT_FALSE(fs::exists(path("out")));
  feroma_cli(sweep("--seeds 7 --algorithms fedavg"));
  const Result half = feroma_cli(sweep("--dry-run --seeds 7"));
  EXPECT_TRUE(contains(half.output, "2 cells, 1 done, 1 to run")) << half.output;
}

TEST_F(SweepCli, DryRunRefusesWhatTheSweepWould) {
  std::ofstream(path("out")) << "a file";
  for (const char* how : {"--dry-run", ""}) {
    const Result refused = feroma_cli(sweep(how), Stream::err);
    EXPECT_EQ(refused.exit_code, 2) << how;
    EXPECT_TRUE(contains(refused.output, "must be a new or empty folder or that of a sweep")) << refused.output;
  }
}

TEST_F(SweepCli, SeedsAreWholeNumbers) {
  for (const char* seeds : {"abc", "1.5", "7,-3"}) {
    const Result refused = feroma_cli(sweep(fmt::format("--dry-run --seeds {}", seeds)), Stream::err);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_TRUE(contains(refused.output, "--seeds: must be a whole number >= 0, got ")) << refused.output;
  }
}

TEST_F(SweepCli, DryRunSaysWhichCellsAreDamaged) {
  feroma_cli(sweep("--seeds 7 --algorithms fedavg"));
  for (const auto& cell : fs::directory_iterator(path("out") + "/cells")) {
    std::ofstream(cell.path() / "summary.json") << "{";
  }
  const Result dry = feroma_cli(sweep("--dry-run --seeds 7 --format json"));
  ASSERT_EQ(dry.exit_code, 0);
  const json cells = json::parse(dry.output)["cells"];
  EXPECT_EQ(cells[0]["status"], "failed");
  EXPECT_TRUE(contains(cells[0]["reason"].get<std::string>(), "summary.json"));
}

TEST_F(SweepCli, PathsNeedNotBeText) {
  const Result dry =
      feroma_cli("sweep " + path("grid.toml") + " --out " + path("out\xff") + " --dry-run --format json");
  ASSERT_EQ(dry.exit_code, 0);
  EXPECT_EQ(json::parse(dry.output)["cells"].size(), 4U);
}

TEST_F(SweepCli, ListsOfSeedsAndAlgorithmsMayStandBeforeTheFile) {
  for (const char* list : {"--seeds 7,8 ", "--algorithms fedprox,fedavg "}) {
    const Result dry = feroma_cli("sweep --dry-run " + std::string(list) + path("grid.toml"));
    EXPECT_EQ(dry.exit_code, 0) << list;
    EXPECT_TRUE(contains(dry.output, "4 cells")) << dry.output;
  }
}

TEST_F(SweepCli, JsonTellsWhatBecameOfEveryCell) {
  const Result done = feroma_cli(sweep("--format json --set scenario.clients=3"));
  ASSERT_EQ(done.exit_code, 0);
  const json cells = json::parse(done.output)["cells"];
  ASSERT_EQ(cells.size(), 4U);
  EXPECT_EQ(cells[3]["status"], "done");
  EXPECT_EQ(cells[3]["ran"], true);
  EXPECT_EQ(cells[3]["clients"], 3);
  EXPECT_GE(cells[3]["accuracy"], 0);
  EXPECT_TRUE(fs::exists(cells[3]["folder"].get<std::string>() + "/summary.json"));
}

TEST_F(SweepCli, MistakesAreNamedWithExitCodeTwo) {
  write("grid.toml", "[sweep]\nbase = 'base.toml'\n[axes]\nscenario.levle = ['low']\nscenario.rounds = [0]\n");
  const Result refused = feroma_cli(sweep(), Stream::err);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(contains(refused.output, "grid.toml:4: unknown key scenario.levle; did you mean scenario.level?"));
  EXPECT_TRUE(contains(refused.output, "grid.toml:5: scenario.rounds must be >= 1, got 0")) << refused.output;
  EXPECT_EQ(feroma_cli("sweep " + path("nowhere.toml")).exit_code, 2);
  EXPECT_FALSE(fs::exists(path("out")));
}

TEST_F(SweepCli, AFailedCellEndsInExitCodeOne) {
  write("grid.toml", "[sweep]\nbase = 'base.toml'\nalgorithms = 'fedavg'\n[axes]\nscenario.clients = [2, 5000]\n");
  const Result failed = feroma_cli(sweep(), Stream::err);
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_TRUE(contains(failed.output, "1 of 2 cells failed")) << failed.output;
  EXPECT_EQ(feroma_cli(sweep()).exit_code, 2) << "not again unless told";
  EXPECT_EQ(feroma_cli(sweep("--resume")).exit_code, 1);
}

TEST_F(SweepCli, HelpHasAnExample) {
  EXPECT_TRUE(contains(feroma_cli("sweep --help").output, "feroma sweep configs/paper/sweeps/main_table_2.toml"));
}

class SweepKillSlow : public SweepFiles {
 protected:
  pid_t start(const std::string& out) const {
    const std::string file = path("grid.toml");
    const pid_t child = fork();
    if (child == 0) {
      const int null = open("/dev/null", O_WRONLY);
      dup2(null, STDOUT_FILENO);
      dup2(null, STDERR_FILENO);
      execl(kProgram, kProgram, "sweep", file.c_str(), "--out", out.c_str(), "--resume", "--jobs", "2", nullptr);
      _exit(127);
    }
    return child;
  }
  /// Exit code, or 128 + signal.
  static int finish(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  /// Waits until some cell has saved a round but is not finished.
  static void wait_for_work(const fs::path& out) {
    for (int i = 0; i < 6000; ++i) {
      std::error_code ignored;
      for (const auto& cell : fs::directory_iterator(out / "cells", ignored)) {
        if (fs::exists(cell.path() / "checkpoint" / "run.ckpt") && !fs::exists(cell.path() / "summary.json")) {
          return;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    FAIL() << "no cell began";
  }
  /// What the cells tell, but times and memory.
  static std::map<std::string, std::string> bits(const fs::path& out) {
    std::map<std::string, std::string> all;
    for (const auto& cell : fs::directory_iterator(out / "cells")) {
      json summary = json::parse(text_of((cell.path() / "summary.json").string()));
      for (const char* key : {"seconds_total", "seconds", "samples_per_second", "peak_rss_bytes"}) {
        summary["results"][0].erase(key);
      }
      all[cell.path().filename()] = summary.dump() + text_of((cell.path() / "clients.csv").string());
    }
    return all;
  }
};

TEST_F(SweepKillSlow, GoesOnToTheSameBitsAfterAKillAndAfterCtrlC) {
  write("grid.toml", "[sweep]\nbase = 'base.toml'\nseeds = [1, 2]\n[axes]\nscenario.rounds = 150\n");
  ASSERT_EQ(finish(start(path("whole"))), 0);
  const std::map<std::string, std::string> expected = bits(path("whole"));
  ASSERT_EQ(expected.size(), 4U);

  pid_t child = start(path("out"));
  wait_for_work(path("out"));
  kill(child, SIGKILL);
  ASSERT_EQ(finish(child), 128 + SIGKILL);
  child = start(path("out"));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(child, SIGINT);
  const int code = finish(child);
  EXPECT_TRUE(code == 3 || code == 0) << code;
  EXPECT_EQ(feroma_cli(sweep()).exit_code, code == 3 ? 2 : 0) << "interrupted cells go on only if told";
  ASSERT_EQ(finish(start(path("out"))), 0);
  EXPECT_EQ(bits(path("out")), expected);
}

TEST_F(SweepKillSlow, TwoSweepsCannotShareAFolderAtOnce) {
  write("grid.toml", "[sweep]\nbase = 'base.toml'\nseeds = [1]\n[axes]\nscenario.rounds = 400\n");
  const pid_t child = start(path("out"));
  wait_for_work(path("out"));
  const Result second = feroma_cli(sweep("--resume"), Stream::err);
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_TRUE(contains(second.output, "another sweep is running in this folder")) << second.output;
  kill(child, SIGKILL);
  finish(child);
}

/// Figures of a sweep, with a browser that never draws and starts another program, as Chromium does.
class DrawingFiles : public SweepFiles {
 protected:
  void SetUp() override {
    SweepFiles::SetUp();
    ASSERT_EQ(feroma_cli(sweep("--seeds 1 --algorithms fedavg")).exit_code, 0);
    fs::create_directories(path("bin"));
    write("bin/chromium",
          fmt::format("#!/bin/sh\nsleep 300 &\necho $! > '{0}.new'\nmv '{0}.new' '{0}'\nwait\n", path("helper")));
    fs::permissions(path("bin/chromium"), fs::perms::owner_all);
  }
  /// Whether what the browser started has ended, or ends soon.
  [[nodiscard]] bool helper_is_gone() const {
    std::string id;
    std::ifstream(path("helper")) >> id;
    EXPECT_NE(id, "") << "the browser was not started";
    for (int i = 0; i < 500; ++i) {
      if (text_of("/proc/" + id + "/cmdline").empty()) {  // as that of a process nobody has waited for
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
};

class Drawing : public DrawingFiles {};

TEST_F(Drawing, CtrlCEndsTheBrowserToo) {
  const std::string folders = path("bin") + ":" + std::getenv("PATH");
  const std::string out = path("out");
  const std::string pictures = path("png");
  const pid_t child = fork();
  if (child == 0) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    setenv("PATH", folders.c_str(), 1);
    execl(kProgram, kProgram, "report", out.c_str(), "--png", pictures.c_str(), nullptr);
    _exit(127);
  }
  for (int i = 0; i < 3000 && !fs::exists(path("helper")); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3) << status;
  EXPECT_TRUE(helper_is_gone());
}

class DrawingSlow : public DrawingFiles {};

TEST_F(DrawingSlow, ABrowserThatHangsIsKilled) {
  const Result late =
      shell(fmt::format("PATH={}:$PATH {} report {} --png {} 2>&1", path("bin"), kProgram, path("out"), path("png")));
  EXPECT_EQ(late.exit_code, 1);
  EXPECT_TRUE(contains(late.output, "did not draw it within 60 s, and was killed")) << late.output;
  EXPECT_TRUE(helper_is_gone());
}

}  // namespace
}  // namespace feroma::test
