#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "feroma/report/figures.h"
#include "tests/core/expect_error.h"
#include "tests/report/count.h"
#include "tests/report/study_runs.h"

namespace feroma {
namespace {

using test::count;
using test::holds;
using test::run_with_profiles;
using test::study_of;
using test::TempFolder;

TEST(DrawnRuns, AreTheFirstOfEachSetting) {
  const TempFolder folder;
  test::write_sample_run(folder / "a", {});
  test::write_sample_run(folder / "b", {.rounds = 6});
  const Study study = study_of(folder);
  EXPECT_EQ(drawn_runs(study, 4).size(), 2U);
  EXPECT_EQ(drawn_runs(study, 1).size(), 1U);
  EXPECT_EQ(drawn_runs(study, 0).size(), 0U);
}

TEST(DrawnRuns, JoinTheCellsOfASettingThoseThatMixFirst) {
  const TempFolder folder;
  test::write_sample_run(folder / "0a", {.algorithms = {"fedavg"}});
  test::write_sample_run(folder / "f1", {.algorithms = {"feroma-auto"}});
  const std::vector<RunData> runs = drawn_runs(study_of(folder), 4);
  ASSERT_EQ(runs.size(), 1U);
  ASSERT_EQ(runs[0].algorithms.size(), 2U);
  EXPECT_EQ(runs[0].name, "fmnist-covariate-high") << "the setting, not a folder";
  EXPECT_EQ(runs[0].title, "fmnist, covariate, high, drifts 10, rounds 8, clients 10");
  EXPECT_EQ(runs[0].algorithms[0].label, "feroma-auto");
  const Figure together = run_figures(runs[0]).front();
  EXPECT_EQ(together.name, "fmnist-covariate-high-accuracy");
  EXPECT_EQ(count(together.svg, "<path class=\"curve"), 4U) << "two, and their keys";
}

TEST(DrawnRuns, AreCalledByTheNamesThatTellThemApart) {
  const TempFolder folder;
  (void)run_with_profiles(folder);  // in "run"
  test::write_sample_run(folder / "other", {});
  for (const auto& [name, reset] : {std::pair{"run", "epoch"}, std::pair{"other", "round"}}) {
    const std::filesystem::path config = folder / fmt::format("{}/config.toml", name);
    write_file_atomically(config,
                          read_text(config) + fmt::format("[[algorithm]]\nname = \"feroma\"\nlabel = "
                                                          "\"feroma-auto\"\nmomentum_reset = \"{}\"\n"
                                                          "[[algorithm]]\nname = \"fedavg\"\nlabel = \"fedavg\"\n",
                                                          reset));
  }
  const std::vector<RunData> runs = drawn_runs(study_of(folder), 4);
  ASSERT_EQ(runs.size(), 1U);
  std::vector<std::string> labels;
  for (const AlgorithmRun& algorithm : runs[0].algorithms) {
    labels.push_back(algorithm.label);
  }
  std::sort(labels.begin(), labels.end());
  EXPECT_EQ(labels, (std::vector<std::string>{"fedavg", "feroma-auto (momentum_reset=epoch)",
                                              "feroma-auto (momentum_reset=round)"}));
  const std::vector<Figure> figures = run_figures(runs[0]);
  EXPECT_TRUE(std::any_of(figures.begin(), figures.end(), [](const Figure& figure) {
    return figure.title == "Profiles of feroma-auto (momentum_reset=epoch)";
  })) << "its files go by the bare label";
}

TEST(DrawnRuns, DamageIsAnErrorOrALineToKeepGoingWith) {
  const TempFolder folder;
  test::write_sample_run(folder / "a", {});
  test::write_sample_run(folder / "b", {.rounds = 6});
  test::write_sample_run(folder / "c", {.rounds = 7});
  const Study study = study_of(folder);
  std::filesystem::remove(folder / "a/events.jsonl");
  write_file_atomically(folder / "b/events.jsonl", std::string_view("no event\n"));
  EXPECT_THROW((void)drawn_runs(study, 4), Error);
  std::vector<std::string> damaged;
  EXPECT_EQ(drawn_runs(study, 4, &damaged).size(), 1U);
  ASSERT_EQ(damaged.size(), 2U);
  for (const std::string& line : damaged) {
    EXPECT_TRUE(holds(line, "is not drawn: ")) << line;
    EXPECT_TRUE(holds(line, "events.jsonl")) << line;
  }
  EXPECT_TRUE(holds(damaged.back(), "use --runs 0")) << damaged.back();
  std::filesystem::remove_all(folder / "c/mixing");
  damaged.clear();
  EXPECT_TRUE(drawn_runs(study, 4, &damaged).empty());
  EXPECT_EQ(damaged.size(), 3U) << "weights are read where they are drawn";
}

}  // namespace
}  // namespace feroma
