#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "feroma/core/files.h"
#include "feroma/core/npy.h"
#include "feroma/net/client_data.h"
#include "feroma/runtime/store_models.h"
#include "net/data_versions.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"
#include "tests/data/own_folder_fixture.h"
#include "tests/faults/tiny_federation.h"

namespace feroma {
namespace {

using feroma::test::error_of;
using feroma::test::holds;
using feroma::test::TempFolder;

/// A table of so many visits to a clinic, with two measurements each.
void write_visits(const TempFolder& folder, int visits, const std::string& extra_column = "") {
  std::filesystem::create_directories(folder / "clinic");
  write_file_atomically(folder / "clinic/dataset.toml",
                        std::string_view("[dataset]\nname = 'clinic'\nkind = 'csv'\nfile = 'visits.csv'\nclasses = 2\n"
                                         "label_column = 'ill'\ntest_fraction = 0.2\n"));
  std::string table = "age,pressure" + extra_column + ",ill\n";
  for (int i = 0; i < visits; ++i) {
    table += fmt::format("{},{}{},{}\n", 20 + i, 100 + i % 7, extra_column.empty() ? "" : ",1", i % 2);
  }
  write_file_atomically(folder / "clinic/visits.csv", std::string_view(table));
}

TEST(FolderData, IsSplitForTrainingAndValidation) {
  const TempFolder folder;
  write_visits(folder, 100);
  const std::unique_ptr<ClientData> data = folder_client_data(folder / "clinic", folder / "state");
  EXPECT_EQ(data->classes(), 2);
  EXPECT_EQ(data->shape().size(), 2);
  EXPECT_FALSE(data->multi_label());
  const ClientShard shard = data->shard(1);
  EXPECT_EQ(shard.window, 0);
  EXPECT_EQ(shard.train.size() + shard.held_out.size(), 100U) << "nothing is kept back as test data";
  EXPECT_EQ(shard.held_out.size(), 20U);
}

std::vector<float> first_sample(const View& view) {
  const auto values = std::span(view.samples->values).subspan(view.items.front().source * 2, 2);
  return {values.begin(), values.end()};
}

TEST(FolderData, ColumnsComeIntoTheOrderOfTheFederation) {
  const TempFolder folder;
  write_visits(folder, 100);
  const std::unique_ptr<ClientData> data = folder_client_data(folder / "clinic", folder / "state");
  const std::vector<float> own = first_sample(data->shard(1).train);
  data->expect_columns({"pressure", "age"});
  EXPECT_EQ(first_sample(data->shard(1).train), (std::vector<float>{own[1], own[0]}));
  EXPECT_EQ(data->shard(1).window, 0) << "the same data";
  write_visits(folder, 150);
  EXPECT_GE(first_sample(data->shard(2).train)[0], 100) << "those that come later too";
  const std::string refused = error_of(ErrorCode::invalid_data, [&] { data->expect_columns({"pressure", "weight"}); });
  EXPECT_TRUE(
      holds(refused, "visits.csv: must have a column \"weight\" like the training data, got age, pressure, ill"))
      << refused;
}

TEST(FolderData, OnlyTheColumnsOfTheFederationCount) {
  const TempFolder folder;
  write_visits(folder, 100, ",more");
  const std::unique_ptr<ClientData> data = folder_client_data(folder / "clinic", folder / "state");
  EXPECT_EQ(data->shape().size(), 3);
  data->expect_columns({"age", "pressure"});
  EXPECT_EQ(data->shape().size(), 2);
  EXPECT_EQ(data->shard(1).window, 0);
}

TEST(FolderData, LargeInputsAreWarnedOfWhereNobodyScalesThem) {
  const TempFolder folder;
  write_visits(folder, 100);
  const test::Warnings warnings;
  const std::unique_ptr<ClientData> data = folder_client_data(folder / "clinic", folder / "state");
  static_cast<void>(data->shard(1));
  EXPECT_EQ(warnings.text(), "") << "the federation may scale them";
  data->expect_own_scale();
  EXPECT_TRUE(holds(warnings.text(), "clinic: its inputs are large (number 2 of a sample"));
  const std::size_t said = warnings.text().size();
  static_cast<void>(data->shard(2));
  EXPECT_EQ(warnings.text().size(), said) << "once for the same files";
  write_visits(folder, 150);
  static_cast<void>(data->shard(3));
  EXPECT_GT(warnings.text().size(), said) << "again for others";
}

TEST(FolderData, ChangedFilesAreANewWindowWhoseNumberSurvivesARestart) {
  const TempFolder folder;
  write_visits(folder, 100);
  {
    const std::unique_ptr<ClientData> data = folder_client_data(folder / "clinic", folder / "state");
    data->keep_past_windows();
    EXPECT_EQ(data->shard(1).window, 0);
    EXPECT_EQ(data->shard(2).window, 0);
    const ClientShard before = data->shard(3);
    write_visits(folder, 150);
    const ClientShard after = data->shard(4);
    EXPECT_EQ(after.window, 1);
    EXPECT_EQ(after.train.size() + after.held_out.size(), 150U);
    EXPECT_EQ(before.train.size(), 80U) << "views of before stay valid";
    EXPECT_EQ(data->train_of_window(0).size(), 80U);
  }
  const std::unique_ptr<ClientData> again = folder_client_data(folder / "clinic", folder / "state");
  EXPECT_EQ(again->shard(5).window, 1) << "the same files are the same version";
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data, [&] { static_cast<void>(again->train_of_window(0)); }),
                    "was not read by this process"));
  write_visits(folder, 90);
  EXPECT_EQ(again->shard(6).window, 2);
}

TEST(FolderData, WhatWouldNotFitTheModelAnyMoreIsRefused) {
  const TempFolder folder;
  write_visits(folder, 100);
  const std::unique_ptr<ClientData> data = folder_client_data(folder / "clinic", folder / "state");
  write_visits(folder, 100, ",glucose");
  EXPECT_TRUE(
      holds(error_of(ErrorCode::invalid_data, [&] { static_cast<void>(data->shard(1)); }), "changed their shape"));
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_config,
                             [&] { static_cast<void>(folder_client_data(folder / "nowhere", folder / "state")); }),
                    "there is no folder "));
  EXPECT_TRUE(holds(
      error_of(ErrorCode::invalid_config,
               [&] { static_cast<void>(folder_client_data(folder / "clinic" / "visits.csv", folder / "state")); }),
      "must be a folder, got "));
}

TEST(FolderData, OneRecordOfOneClassIsEnoughToTrainOn) {
  const TempFolder folder;
  write_visits(folder, 1);
  const std::unique_ptr<ClientData> data = folder_client_data(folder / "clinic", folder / "state");
  EXPECT_EQ(data->classes(), 2);
  const ClientShard shard = data->shard(1);
  EXPECT_EQ(shard.train.size(), 1U);
  EXPECT_EQ(shard.held_out.size(), 0U);
}

/// Four clients with a table each: two with records of three classes, one with a single record, one with one class.
class FewRecords : public faults::TinyFederation {
 protected:
  static constexpr std::uint32_t kClients = 4;
  static constexpr std::uint32_t kOneRecord = 2;
  static constexpr std::uint32_t kOneClass = 3;

  [[nodiscard]] std::unique_ptr<ClientData> data_of(std::uint32_t client) override {
    const std::filesystem::path site = folder / fmt::format("site-{}", client);
    std::filesystem::create_directories(site);
    write_file_atomically(site / "dataset.toml",
                          std::string_view("[dataset]\nname = 'site'\nkind = 'csv'\nfile = 'table.csv'\nclasses = 3\n"
                                           "label_column = 'y'\nshape = '1x3x3'\n"));
    std::string table = "a,b,c,d,e,f,g,h,i,y\n";
    Rng rng = Rng(5).derive("table", client);
    for (int record = 0; record < (client == kOneRecord ? 1 : 24); ++record) {
      const int label = client == kOneClass ? 1 : record % 3;
      for (int i = 0; i < 9; ++i) {
        table += fmt::format("{:.4f},", (i % 3 == label ? 2.0 : 0.0) + rng.normal());
      }
      table += fmt::format("{}\n", label);
    }
    write_file_atomically(site / "table.csv", std::string_view(table));
    return folder_client_data(site, folder / fmt::format("site-{}-state", client));
  }

  template <class Values>
  static bool all_numbers(const Values& values) {
    return std::all_of(values.begin(), values.end(), [](auto value) { return std::isfinite(value); });
  }
};

TEST_F(FewRecords, TakePartInEveryRoundAndLeaveNothingThatIsNoNumber) {
  FederationPlan todo =
      plan(kClients, /*rounds=*/5, "name = 'feroma'\npreset = 'auto'\nwarmup_rounds = 2\nprofile.dimensions = 6",
           "few-records");
  todo.round_finished = [&todo](const RoundRecord& record, int) {
    EXPECT_EQ(record.clients.size(), kClients) << "round " << record.round;
    EXPECT_TRUE(record.dropped.empty()) << "round " << record.round;
    EXPECT_TRUE(all_finite(todo)) << "round " << record.round;
  };
  static_cast<void>(play(todo, first(kClients)));
  int arrays = 0;
  for (const char* kind : {"profiles", "mixing"}) {
    for (const auto& entry : std::filesystem::directory_iterator(todo.state / kind)) {
      EXPECT_TRUE(all_numbers(read_npy(entry.path()).to_doubles())) << entry.path();
      arrays += 1;
    }
  }
  EXPECT_EQ(arrays, 3 + 2) << "profiles of three rounds; the first of them have nothing to be mixed with";
  const std::vector<ServedModel> served = open_store(todo.state, "").algorithm->served();
  ASSERT_EQ(served.size(), kClients);
  for (const ServedModel& model : served) {
    EXPECT_FALSE(model.profile.empty());
    EXPECT_TRUE(all_numbers(model.profile));
    EXPECT_TRUE(all_numbers(model.model->values()));
  }
}

TEST(FolderData, WhatCannotBeReadIsNoVersion) {
  const TempFolder folder;
  const auto open = [&] { return folder_client_data(folder / "clinic", folder / "state"); };
  std::filesystem::create_directories(folder / "clinic");
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data, [&] { static_cast<void>(open()); }), "got neither"));
  write_visits(folder, 0);
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data, [&] { static_cast<void>(open()); }), "at least one row"));
  EXPECT_FALSE(std::filesystem::exists(folder / "state")) << "nothing happens before the data are good";
  write_visits(folder, 100);
  const std::unique_ptr<ClientData> data = open();
  write_visits(folder, 0);
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data, [&] { static_cast<void>(data->shard(1)); }), "at least one row"));
  write_visits(folder, 50);
  EXPECT_EQ(data->shard(2).window, 1);
}

// Somebody edits the files in place while the client runs: whatever is wrong with them, it is wrong for now.
TEST(FolderData, NothingThatHappensToTheFilesEndsAClientThatRuns) {
  const TempFolder folder;
  const auto open = [&] { return folder_client_data(folder / "clinic", folder / "state"); };
  const auto describe = [&](std::string_view text) { write_file_atomically(folder / "clinic/dataset.toml", text); };
  write_visits(folder, 100);
  const std::unique_ptr<ClientData> data = open();
  const auto trouble = [&] { return error_of(ErrorCode::invalid_data, [&] { static_cast<void>(data->shard(1)); }); };
  describe("[dataset]\nname = 'cli");
  EXPECT_TRUE(holds(trouble(), "not valid TOML"));
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_config, [&] { static_cast<void>(open()); }), "not valid TOML"))
      << "at the start it is the user's mistake";
  describe("[dataset]\nname = 'clinic'\nkind = 'csv'\nfiles = 'visits.csv'\n");
  EXPECT_TRUE(holds(trouble(), "dataset.files"));
  std::filesystem::remove_all(folder / "clinic");
  static_cast<void>(trouble());
  write_file_atomically(folder / "clinic", std::string_view("no folder"));
  static_cast<void>(trouble());
  std::filesystem::remove(folder / "clinic");
  write_visits(folder, 50);
  EXPECT_EQ(data->shard(2).window, 1) << "good again";
}

TEST(FolderData, KeepsVersionsThatAreOverOnlyWhereAsked) {
  const TempFolder folder;
  write_visits(folder, 100);
  const std::unique_ptr<ClientData> data = folder_client_data(folder / "clinic", folder / "state");
  write_visits(folder, 50);
  EXPECT_EQ(data->shard(1).window, 1);
  EXPECT_TRUE(
      holds(error_of(ErrorCode::invalid_data, [&] { static_cast<void>(data->train_of_window(0)); }), "was not kept"));
  data->keep_past_windows();
  write_visits(folder, 60);
  EXPECT_EQ(data->shard(2).window, 2);
  EXPECT_EQ(data->train_of_window(1).size(), 40U);
}

// A number that is used before it is on disk would be another version's after a restart.
TEST(DataVersions, AVersionCountsOnceItIsOnDisk) {
  const TempFolder folder;
  const std::string first(64, 'a');
  const std::string second(64, 'b');
  write_file_atomically(folder / "state", std::string_view("a file where the folder must be"));
  net::DataVersions versions(folder / "state" / "data.versions");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(static_cast<void>(versions.number_of(first)), Error) << "each time it cannot be written";
  }
  std::filesystem::remove(folder / "state");
  EXPECT_EQ(versions.number_of(second), 0);
  EXPECT_EQ(net::DataVersions(folder / "state" / "data.versions").number_of(second), 0);
  EXPECT_TRUE(read_text(folder / "state" / "data.versions").ends_with("\n" + second + "\n"));
}

}  // namespace
}  // namespace feroma
