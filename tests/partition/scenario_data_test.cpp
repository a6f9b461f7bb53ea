#include "feroma/partition/scenario_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/data/picture_bytes.h"
#include "tests/data/shared_data.h"
#include "tests/data/synthetic.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

class ScenarioData : public testing::Test {
 protected:
  /// Pictures of three classes in one domain.
  void write_pictures() {
    for (const char* name : {"cat", "dog", "fox"}) {
      fs::create_directories(folder_ / "photo" / name);
      for (const char* file : {"1.png", "2.png"}) {
        const Bytes bytes = test::flat_png(5, 90);
        std::ofstream(folder_ / "photo" / name / file, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      }
    }
  }
  /// A table whose domains have two factors: clinic and sex.
  void write_table() {
    std::ofstream(folder_ / "dataset.toml") << "[dataset]\nkind = \"csv\"\nfile = \"visits.csv\"\nlabel_column = "
                                               "\"ill\"\ndomain_columns = \"clinic, sex\"\n";
    std::ofstream table(folder_ / "visits.csv");
    table << "age,clinic,sex,ill\n";
    for (int i = 0; i < 40; ++i) {
      table << 20 + i << (i % 2 == 0 ? ",north," : ",south,") << (i % 4 < 2 ? "f," : "m,") << i / 4 % 2 << '\n';
    }
  }
  std::shared_ptr<const Dataset> load() {
    options_.dataset = folder_.string();
    return load_scenario_data(options_, problems_);
  }
  void expect_problem(std::string_view part) {
    ASSERT_EQ(problems_.messages().size(), 1U);
    EXPECT_NE(problems_.messages()[0].find(part), std::string::npos) << problems_.messages()[0];
  }

  test::ScratchFolder scratch_;
  fs::path folder_ = scratch_.path();
  ScenarioOptions options_;
  Problems problems_;
};

TEST_F(ScenarioData, PicturesHaveTheSizeAskedFor) {
  write_pictures();
  options_.image_size = 6;
  EXPECT_EQ(load()->train.shape, (SampleShape{3, 6, 6}));
  options_.image_size = 0;
  EXPECT_EQ(load()->train.shape, (SampleShape{3, 64, 64}));
  EXPECT_TRUE(problems_.messages().empty());
}

TEST_F(ScenarioData, NumbersCannotBeResized) {
  write_table();
  options_.image_size = 6;
  static_cast<void>(load());
  expect_problem("scenario.image_size must be 0 because");
}

TEST_F(ScenarioData, OnlyChestXraysHaveAges) {
  write_pictures();
  options_.age_threshold = 40;
  static_cast<void>(load());
  expect_problem("has no ages to divide, got 40");
}

TEST_F(ScenarioData, ClassesThatAreNotThereCannotBeKept) {
  write_table();
  options_.first_classes = 3;
  static_cast<void>(load());
  expect_problem("scenario.first_classes must be 0, or at most the classes of a picture folder;");
}

TEST_F(ScenarioData, TheLevelSaysHowManyFactorsOfADomainCount) {
  write_table();
  options_.shift = Shift::natural;
  options_.level = Level::low;
  EXPECT_EQ(load()->domain_names, (std::vector<std::string>{"north", "south"}));
  options_.level = Level::high;
  EXPECT_EQ(load()->domain_names.size(), 4U) << "two factors are all there are";
  options_.domain_factors = 1;
  EXPECT_EQ(load()->domain_names.size(), 2U) << "an explicit number stands over the level";
  EXPECT_TRUE(problems_.messages().empty());
  options_.domain_factors = 3;
  static_cast<void>(load());
  expect_problem("scenario.domain_factors must be at most 2");
}

TEST_F(ScenarioData, OtherShiftsKeepAllDomains) {
  write_table();
  options_.shift = Shift::iid;
  EXPECT_EQ(load()->domain_names.size(), 4U);
}

TEST_F(ScenarioData, DomainsOfOneFactorHaveNoLevels) {
  write_pictures();
  options_.shift = Shift::natural;
  options_.level = Level::high;
  static_cast<void>(load());
  expect_problem("scenario.level must be \"medium\" because the domains of");
}

TEST(ScenarioDataReal, TheAgeThresholdDecidesWhoIsOld) {
  FEROMA_NEEDS_SHARED_DATA("nih-chestxray64");
  ScenarioOptions options;
  options.dataset = "nih-chestxray64";
  options.data_dir = test::shared_data("nih-chestxray64").string();
  options.shift = Shift::natural;
  const auto old_pa = [&](double threshold) {
    options.age_threshold = threshold;
    Problems problems;
    const auto dataset = load_scenario_data(options, problems);
    EXPECT_TRUE(problems.messages().empty());
    EXPECT_EQ(dataset->domain_names, (std::vector<std::string>{"PA/young", "PA/old", "AP/young", "AP/old"}));
    return std::count(dataset->train.domains.begin(), dataset->train.domains.end(), 1);
  };
  EXPECT_EQ(old_pa(0), old_pa(50));
  EXPECT_GT(old_pa(30), old_pa(50));
}

TEST(ScenarioDataReal, TheFirstClassesOfPacs) {
  FEROMA_NEEDS_SHARED_DATA("pacs64");
  ScenarioOptions options;
  options.dataset = "pacs";
  options.data_dir = test::shared_data("pacs64").string();
  options.image_size = 16;
  options.first_classes = 3;
  Problems problems;
  const auto dataset = load_scenario_data(options, problems);
  EXPECT_EQ(dataset->class_names, (std::vector<std::string>{"dog", "elephant", "giraffe"}));
  EXPECT_EQ(dataset->train.count(), 4U * 3 * 64);
}

TEST_F(ScenarioData, SharedDatasetsAreReadOnceForEachWayOfReading) {
  write_table();
  ScenarioOptions options;
  options.dataset = folder_.string();
  SharedDatasets shared;
  const auto first = shared.get(options);
  options.clients = 3;
  EXPECT_EQ(shared.get(options), first) << "how clients divide the data is no matter of reading";
  Problems problems;
  EXPECT_EQ(load_scenario_data(options, problems, &shared), first);
  options.image_size = 8;
  EXPECT_NE(shared.get(options), first);
  options.image_size = 0;
  EXPECT_EQ(shared.get(options), first) << "somebody still has it";
}

}  // namespace
}  // namespace feroma
