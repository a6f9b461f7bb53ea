// The same figures whatever the threads, and whatever interrupts a run: the real binary is killed and resumed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "feroma/core/files.h"
#include "feroma/core/rng.h"
#include "feroma/core/settings.h"
#include "feroma/core/simd.h"
#include "feroma/data/catalog.h"
#include "tests/data/synthetic.h"
#include "tests/places.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr const char* kConfig = R"(
[scenario]
dataset = "fmnist"
shift = "covariate"
level = "medium"
drifts = 2
clients = 40
rounds = 5
participation = 0.1
[training]
local_epochs = 1
[[algorithm]]
name = "fedavg"
[[algorithm]]
name = "feroma"
warmup_rounds = 2
)";

class ResumeSlow : public testing::Test {
 protected:
  void SetUp() override {
    if (locate_dataset(find_dataset("fmnist"), {}).empty()) {
      GTEST_SKIP() << "Fashion-MNIST is not installed: killing and resuming a run is NOT tested";
    }
    std::ofstream(config) << kConfig;
  }

  pid_t start(const fs::path& out, const std::vector<std::string>& extra) const {
    std::vector<std::string> words{kProgram, "run", config.string(), "--out", out.string()};
    words.insert(words.end(), extra.begin(), extra.end());
    std::vector<char*> argv;
    for (std::string& word : words) {
      argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      const int null = open("/dev/null", O_WRONLY);
      dup2(null, STDOUT_FILENO);
      dup2(null, STDERR_FILENO);
      execv(argv[0], argv.data());
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

  int run(const fs::path& out, const std::vector<std::string>& extra = {}) const { return finish(start(out, extra)); }

  /// Everything in summary.json except times and memory.
  static Json figures(const fs::path& out) {
    Json summary = Json::parse(read_text(out / "summary.json"));
    for (Json& result : summary["results"]) {
      for (const char* key : {"seconds_total", "seconds", "samples_per_second", "peak_rss_bytes"}) {
        result.erase(key);
      }
    }
    return summary;
  }

  test::ScratchFolder scratch;
  fs::path config = scratch.path() / "config.toml";
};

TEST_F(ResumeSlow, FiguresDoNotDependOnThreadsKillsOrInterrupts) {
  const fs::path whole = scratch.path() / "whole";
  const auto begin = Clock::now();
  ASSERT_EQ(run(whole, {"--threads", "1"}), 0);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const Json expected = figures(whole);

  const fs::path two = scratch.path() / "two";
  ASSERT_EQ(run(two, {"--threads", "2"}), 0);
  EXPECT_EQ(figures(two), expected);

  Rng rng(static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()));
  for (int i = 0; i < 5; ++i) {
    const fs::path out = scratch.path() / ("killed" + std::to_string(i));
    const double after = rng.uniform(0, seconds);
    const pid_t child = start(out, {"--threads", "1"});
    std::this_thread::sleep_for(std::chrono::duration<double>(after));
    kill(child, SIGKILL);
    const int code = finish(child);
    if (code != 0) {
      EXPECT_EQ(code, 128 + SIGKILL);
      EXPECT_FALSE(fs::exists(out / "report.html")) << "an unfinished run looks finished";
    }
    const bool began = fs::exists(out / "manifest.json");
    ASSERT_EQ(run(out, {"--threads", "2", began ? "--resume" : "--overwrite"}), 0) << "killed after " << after << " s";
    EXPECT_EQ(figures(out), expected) << "killed after " << after << " s";
    EXPECT_EQ(read_text(out / "clients.csv"), read_text(whole / "clients.csv"));
  }
}

TEST_F(ResumeSlow, FiguresDoNotDependOnTheVectorWidth) {
  if (simd_targets().front() != SimdTarget::avx512) {
    GTEST_SKIP() << "this machine has no AVX-512: a run on it is NOT compared with one on AVX2";
  }
  const fs::path wide = scratch.path() / "avx512";
  const fs::path narrow = scratch.path() / "avx2";
  ASSERT_EQ(run(wide, {"--simd", "avx512"}), 0);
  ASSERT_EQ(run(narrow, {"--simd", "avx2"}), 0);
  EXPECT_EQ(figures(narrow)["results"], figures(wide)["results"]);
  EXPECT_EQ(read_text(narrow / "clients.csv"), read_text(wide / "clients.csv"));
  EXPECT_EQ(std::get<std::string>(load_settings(narrow / "config.toml").at("training.simd").value), "avx2");
  EXPECT_EQ(run(narrow, {"--resume", "--simd", "avx512"}), 2);
}

TEST_F(ResumeSlow, CtrlCExitsWithThreeAndResumes) {
  const fs::path whole = scratch.path() / "whole";
  ASSERT_EQ(run(whole), 0);
  const fs::path out = scratch.path() / "interrupted";
  const pid_t child = start(out, {});
  while (!fs::exists(out / "checkpoint" / "run.ckpt")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill(child, SIGINT);
  EXPECT_EQ(finish(child), 3);
  EXPECT_FALSE(fs::exists(out / "summary.json"));
  ASSERT_EQ(run(out, {"--resume"}), 0);
  EXPECT_EQ(figures(out), figures(whole));
}

TEST_F(ResumeSlow, ADamagedCheckpointIsRefusedByName) {
  const fs::path out = scratch.path() / "damaged";
  const pid_t child = start(out, {});
  while (!fs::exists(out / "checkpoint" / "run.ckpt")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill(child, SIGKILL);
  static_cast<void>(finish(child));
  const fs::path commit = out / "checkpoint" / "run.ckpt";
  fs::resize_file(commit, fs::file_size(commit) / 2);
  EXPECT_EQ(run(out, {"--resume"}), 1);
  EXPECT_FALSE(fs::exists(out / "summary.json"));
}

}  // namespace
}  // namespace feroma
