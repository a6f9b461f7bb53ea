#include "src/report/paper_beside.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "src/report/cell_text.h"
#include "tests/core/temp_folder.h"
#include "tests/report/paper_rows.h"
#include "tests/report/study_runs.h"

namespace feroma {
namespace {

using test::has_note;
using test::row;
using test::sample_result;
using test::table_of;
using test::TempFolder;
using test::write_cell;

TEST(PaperBeside, DistancesMayBeSeenOnOtherData) {
  const TempFolder folder;
  const std::string keys = "mapping.metric = \"cosine\"\nassign.metric = \"cosine\"\n";
  write_cell(folder / "mnist", {.keys = keys}, {sample_result("feroma-cc", 90)});
  write_cell(folder / "fmnist", {.dataset = "fmnist", .keys = keys}, {sample_result("feroma-cc", 73)});
  const PaperTable table = table_of("dft_px", folder);
  const PaperValue& own = row(table, "C.C.", "feroma-cc").values[0];
  EXPECT_NEAR(*own.difference(), 73 - 73.79, 1e-12);
  const PaperValue& other = row(table, "C.C.", "feroma-cc [mnist]").values[0];
  EXPECT_DOUBLE_EQ(*other.ours, 90);
  EXPECT_DOUBLE_EQ(*other.published, 73.79);
  EXPECT_FALSE(other.difference());
  EXPECT_TRUE(has_note(table, "stand beside figures of FMNIST"));
}

TEST(PaperBeside, MeansOverDistancesAreTakenAnewWithoutTheKnownAssociation) {
  const TempFolder folder;
  const std::string keys = "mapping.metric = \"cosine\"\nassign.metric = \"cosine\"\n";
  for (const char* shift : {"covariate", "label_prior", "concept_feature", "concept_label"}) {
    for (const char* level : {"low", "medium", "high"}) {
      write_cell(folder / fmt::format("{}-{}", shift, level),
                 {.shift = shift, .level = level, .dataset = "fmnist", .keys = keys}, {sample_result("feroma-cc", 76)});
    }
  }
  const PaperTable table = table_of("3x1_table", folder);
  EXPECT_EQ(table.columns[0].title, "5/20");
  const PaperValue& value = row(table, "C.C.", "feroma-cc").values[0];
  EXPECT_DOUBLE_EQ(*value.ours, (9 * 76 + 3 * 76.75) / 12);
  EXPECT_DOUBLE_EQ(*value.printed, 75.864);
  EXPECT_NEAR(*value.published, 76.12167, 5e-6) << "of the twelve figures of dft_*";
  EXPECT_NEAR(*value.published_std, 3.0054, 5e-5);
  EXPECT_FALSE(value.difference()) << "a quarter of the published one is of other data";
  EXPECT_TRUE(has_note(table, "taken anew from the twelve figures of dft_*"));
  EXPECT_TRUE(has_note(table, "a quarter of each published mean is dft_py"));
  EXPECT_FALSE(has_note(table, "other methods with the association known"));
}

TEST(PaperBeside, PublishedFiguresOfOtherDataHaveNoDifference) {
  const TempFolder folder;
  const std::string keys =
      "preset = \"reference\"\nprofile.subsampling = \"halves\"\nmapping.threshold = 0.0\nprofile.replicates = 3\n";
  for (const char* shift : {"covariate", "label_prior"}) {
    write_cell(folder / shift, {.shift = shift, .drifts = 10, .keys = keys}, {sample_result("feroma-reference", 90)});
  }
  const PaperTable table = table_of("stoc_mnist_px_py", folder);
  const PaperRow& ours = row(table, "M=3, threshold off", "feroma-reference");
  ASSERT_EQ(table.columns[3].title, "P(Y) low");
  EXPECT_TRUE(ours.values[0].difference()) << "P(X)";
  EXPECT_DOUBLE_EQ(*ours.values[3].ours, 90);
  EXPECT_DOUBLE_EQ(*ours.values[3].published, 86.24) << "where the main table has 98.66";
  EXPECT_FALSE(ours.values[3].difference());
  EXPECT_TRUE(has_note(table, "P(Y): what is published is of other data"));
  EXPECT_TRUE(table.is_measured());
  EXPECT_FALSE(has_note(table_of("stoc_mnist_pyx_pxy", folder), "of other data"));
  EXPECT_TRUE(has_note(table_of("dft_py", folder), "no difference is taken"));
}

TEST(PaperBeside, AThresholdThatIsNotThePapersDoesNotCount) {
  const TempFolder folder;
  const std::string keys = "preset = \"reference\"\nprofile.subsampling = \"halves\"\nprofile.replicates = 1\n";
  write_cell(folder / "large", {.drifts = 10, .keys = keys + "mapping.threshold = 0.2\n"},
             {sample_result("feroma-large", 70)});
  EXPECT_THROW(row(table_of("stoc_mnist_px_py", folder), "M=1, threshold on", "feroma-large"), std::runtime_error);
  write_cell(folder / "own", {.drifts = 10, .keys = keys + "mapping.threshold = 0.05\n"},
             {sample_result("feroma-own", 80)});
  EXPECT_DOUBLE_EQ(*row(table_of("stoc_mnist_px_py", folder), "M=1, threshold on", "feroma-own").values[0].ours, 80);
}

TEST(PaperBeside, WhatIsNotApplicableIsNotMissing) {
  const TempFolder folder;
  write_cell(folder / "a", {}, {not_applicable("atp", "atp", "it needs one label per sample")});
  write_cell(folder / "b", {.shift = "label_prior"}, {sample_result("atp", 80)});
  const PaperTable single = table_of("main_appe_mnist_px", folder);
  const PaperValue& value = row(single, "ATP", "atp").values[0];
  EXPECT_FALSE(value.ours);
  EXPECT_EQ(value.not_applicable, "it needs one label per sample");
  EXPECT_EQ(detail::ours_text(value, 2), "not applicable");
  EXPECT_EQ(detail::ours_text(row(single, "ATP", "atp").values[1], 2), "missing") << "nobody tried";
  EXPECT_EQ(single.filled(), (std::pair<std::size_t, std::size_t>{0, 98})) << "of 99 one cannot be";
  EXPECT_FALSE(single.is_measured());
  const PaperTable means = table_of("main_table_2", folder);
  const PaperValue& mean = row(means, "ATP", "atp").values[0];
  EXPECT_EQ(mean.cells_found, 1U);
  EXPECT_TRUE(mean.not_applicable) << "it can never be whole";
  EXPECT_EQ(detail::ours_text(mean, 2), "1 of 4 cells");
}

}  // namespace
}  // namespace feroma
