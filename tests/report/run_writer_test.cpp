#include "feroma/report/run_writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "feroma/core/files.h"
#include "feroma/core/npy.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"
#include "tests/report/sample_run.h"

namespace feroma {
namespace {

using nlohmann::ordered_json;
using test::error_of;
using test::holds;
using test::TempFolder;
using Mode = RunWriter::Mode;

RoundRecord mapped_round() {
  RoundRecord record;
  record.algorithm = "feroma-auto";
  record.round = 6;
  record.loss = 0.25;
  record.accuracy_before = 71.5;
  record.accuracy_after = 80.1;
  record.global_share = 0.0;
  record.clustered_share = 0.75;
  record.personal_share = 0.25;
  record.contraction = 0.5;
  record.seconds = 1.5;
  record.bytes_up = 1000;
  record.bytes_down = 2000;
  record.epsilon = 0.1;
  record.test_accuracy = 62.75;
  record.clients = {{3, 2, 1600, 0.3, 70.0, 80.0, "clustered"}, {7, 1, 10, 1e-7, 0.0, 100.0, ""}};
  return record;
}

std::vector<ordered_json> events_of(const std::filesystem::path& folder) {
  std::vector<ordered_json> events;
  std::istringstream lines(read_text(folder / "events.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    events.push_back(ordered_json::parse(line));
  }
  return events;
}

TEST(RunWriter, CsvFilesHaveTheContractsColumnsAndShortestNumbers) {
  const TempFolder folder;
  RunWriter writer(folder.path(), Mode::create);
  writer.round_finished(mapped_round());
  RoundRecord plain;
  plain.algorithm = "fedavg";
  plain.round = 1;
  writer.round_finished(plain);
  (void)writer.flush_and_sizes();
  EXPECT_EQ(read_text(folder / "metrics.csv"),
            "algorithm,round,loss,accuracy_before,accuracy_after,global_share,clustered_share,personal_share,seconds,"
            "bytes_up,bytes_down,epsilon,test_accuracy\n"
            "feroma-auto,6,0.25,71.5,80.1,0,0.75,0.25,1.5,1000,2000,0.1,62.75\n"
            "fedavg,1,0,0,0,,,,0,0,0,,\n");
  EXPECT_EQ(read_text(folder / "clients.csv"),
            "algorithm,round,client,distribution,num_examples,loss,accuracy_before,accuracy_after,strategy\n"
            "feroma-auto,6,3,2,1600,0.3,70,80,clustered\n"
            "feroma-auto,6,7,1,10,1e-07,0,100,\n");
}

TEST(RunWriter, EventsNameWhoDroppedOutAndWhereARunWasResumed) {
  const TempFolder folder;
  RunWriter writer(folder.path(), Mode::create);
  RoundRecord record = mapped_round();
  record.dropped = {{5, "[training] the loss must stay finite"}};
  writer.run_resumed("feroma-auto", 5);
  writer.round_finished(record);
  (void)writer.flush_and_sizes();
  const auto events = events_of(folder.path());
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0], ordered_json({{"event", "run_resumed"}, {"algorithm", "feroma-auto"}, {"round", 5}}));
  EXPECT_EQ(events[1], ordered_json({{"event", "client_dropped"},
                                     {"algorithm", "feroma-auto"},
                                     {"round", 6},
                                     {"client", 5},
                                     {"reason", "[training] the loss must stay finite"}}));
}

TEST(RunWriter, OneEventTellsWhatClientsCsvHasNoColumnsFor) {
  const TempFolder folder;
  RunWriter writer(folder.path(), Mode::create);
  RoundRecord record = mapped_round();
  record.clients[0].bytes_up = 10;
  record.clients[0].bytes_down = 20;
  record.clients[1].moved = 4.5;
  writer.round_finished(record);
  writer.profiles({"feroma-auto", 6, 2, {1, 2, 3, 4}, {3, 7}});
  (void)writer.flush_and_sizes();
  auto events = events_of(folder.path());
  ASSERT_EQ(events.size(), 3U);
  EXPECT_GT(events[1]["time"], 1.6e9);
  events[1].erase("time");
  EXPECT_EQ(events[1].dump(), R"({"event":"clients","algorithm":"feroma-auto","round":6,"client":[3,7],)"
                              R"("bytes_up":[10,0],"bytes_down":[20,0],"moved":[null,4.5]})");
  EXPECT_EQ(events[2].dump(), R"({"event":"profiles","algorithm":"feroma-auto","round":6,"receivers":[3,7],)"
                              R"("file":"profiles/feroma-auto-6.npy","sha256":")" +
                                  sha256(read_file(folder / "profiles/feroma-auto-6.npy")) + "\"}");
}

TEST(RunWriter, EventsTellEverythingOneObjectPerLine) {
  const TempFolder folder;
  RunWriter writer(folder.path(), Mode::create);
  writer.run_started(
      {{"scenario.clients", {std::int64_t{20}, "a.toml:1"}}, {"scenario.level", {std::string("low"), ""}}});
  writer.round_finished(mapped_round());
  writer.mixing({"feroma-auto", 6, {3, 7}, {7}, {1.0, 0.5}});
  writer.algorithm_finished(test::sample_result("feroma-auto", 84));
  writer.run_finished(2.5);
  (void)writer.flush_and_sizes();
  const std::vector<ordered_json> events = events_of(folder.path());
  ASSERT_EQ(events.size(), 5U);
  EXPECT_EQ(events[0].dump(),
            R"({"event":"run_started","schema":1,"config":{"scenario.clients":20,"scenario.level":"low"}})");
  EXPECT_EQ(
      events[1].dump(),
      R"({"event":"round_finished","algorithm":"feroma-auto","round":6,"loss":0.25,"accuracy_before":71.5,)"
      R"("accuracy_after":80.1,"validation_loss":0.0,"validation_accuracy":0.0,"global_share":0.0,)"
      R"("clustered_share":0.75,"personal_share":0.25,"mixing_auc":null,"contraction":0.5,)"
      R"("column_sum_min":null,"column_sum_max":null,"seconds":1.5,"bytes_up":1000,"bytes_down":2000,"epsilon":0.1,"test_accuracy":62.75})");
  EXPECT_EQ(events[2].dump(),
            R"({"event":"mixing","algorithm":"feroma-auto","round":6,"receivers":[3,7],"sources":[7],)"
            R"("file":"mixing/feroma-auto-6.npy","sha256":")" +
                sha256(read_file(folder / "mixing/feroma-auto-6.npy")) + "\"}");
  EXPECT_EQ(events[3]["event"], "algorithm_finished");
  EXPECT_EQ(events[3]["accuracy"], 84.0);
  EXPECT_EQ(events[4].dump(), R"({"event":"run_finished","seconds":2.5})");
}

TEST(RunWriter, ArraysAreFloat32WithOneRowPerReceiver) {
  const TempFolder folder;
  RunWriter writer(folder.path(), Mode::create);
  writer.mixing({"a", 6, {3, 7}, {7, 8, 9}, {0.5, 0.25, 0.25, 1, 0, 0}});
  writer.profiles({"a", 6, 2, {1, 2, 3, 4}});
  const NpyArray mixing = read_npy(folder / "mixing/a-6.npy");
  EXPECT_EQ(mixing.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(mixing.as<float>(), (std::vector<float>{0.5F, 0.25F, 0.25F, 1, 0, 0}));
  EXPECT_EQ(read_npy(folder / "profiles/a-6.npy").shape, (std::vector<std::int64_t>{2, 2}));
}

TEST(RunWriter, LabelsWithCommasAreQuoted) {
  const TempFolder folder;
  RunWriter writer(folder.path(), Mode::create);
  RoundRecord record;
  record.algorithm = "a,\"b\"";
  writer.round_finished(record);
  (void)writer.flush_and_sizes();
  EXPECT_TRUE(holds(read_text(folder / "metrics.csv"), "\n\"a,\"\"b\"\"\",0,"));
}

TEST(RunWriter, NotANumberIsNullInEvents) {
  const TempFolder folder;
  RunWriter writer(folder.path(), Mode::create);
  RoundRecord record;
  record.loss = std::numeric_limits<double>::quiet_NaN();
  writer.round_finished(record);
  (void)writer.flush_and_sizes();
  EXPECT_TRUE(events_of(folder.path())[0]["loss"].is_null());
  EXPECT_TRUE(holds(read_text(folder / "metrics.csv"), ",0,nan,"));
}

TEST(RunWriter, AResumedRunHasTheBytesOfAnUndisturbedOne) {
  const TempFolder whole;
  const TempFolder torn;
  RoundRecord second = mapped_round();
  second.round = 7;
  {
    RunWriter writer(whole.path(), Mode::create);
    writer.round_finished(mapped_round());
    writer.round_finished(second);
    (void)writer.flush_and_sizes();
  }
  RunFileSizes committed;
  {
    RunWriter writer(torn.path(), Mode::create);
    writer.round_finished(mapped_round());
    committed = writer.flush_and_sizes();
    writer.round_finished(second);
    writer.run_finished(1);
    (void)writer.flush_and_sizes();
    writer.run_finished(2);  // never flushed: lost
  }
  RunWriter writer(torn.path(), Mode::resume);
  writer.truncate_to(committed);
  EXPECT_EQ(writer.flush_and_sizes(), committed);
  writer.round_finished(second);
  (void)writer.flush_and_sizes();
  for (const char* file : {"metrics.csv", "clients.csv", "events.jsonl"}) {
    EXPECT_EQ(read_text(torn / file), read_text(whole / file)) << file;
  }
}

TEST(RunWriter, AResumedRunKeepsItsColumns) {
  const TempFolder folder;
  (void)RunWriter(folder.path(), Mode::create).flush_and_sizes();
  const std::string metrics = "round,algorithm,from_a_later_version,seconds\n";
  const std::string clients = "strategy,client,round,algorithm\n";
  write_file_atomically(folder / "metrics.csv", metrics);
  write_file_atomically(folder / "clients.csv", clients);
  RunWriter writer(folder.path(), Mode::resume);
  writer.truncate_to({metrics.size(), clients.size(), 0});
  writer.round_finished(mapped_round());
  (void)writer.flush_and_sizes();
  EXPECT_EQ(read_text(folder / "metrics.csv"), metrics + "6,feroma-auto,,1.5\n");
  EXPECT_EQ(read_text(folder / "clients.csv"), clients + "clustered,3,6,feroma-auto\n,7,6,feroma-auto\n");
}

TEST(RunWriter, CreateStartsAnewAndClearsUnfinishedWrites) {
  const TempFolder folder;
  {
    RunWriter writer(folder.path(), Mode::create);
    writer.round_finished(mapped_round());
    (void)writer.flush_and_sizes();
  }
  folder.write("mixing/.a-6.npy.1-2.unfinished", {});
  RunWriter writer(folder.path(), Mode::create);
  EXPECT_EQ(writer.flush_and_sizes().events, 0U);
  EXPECT_FALSE(std::filesystem::exists(folder / "mixing/.a-6.npy.1-2.unfinished"));
}

TEST(RunWriter, ResumeNeedsTheFilesAndAllTheirBytes) {
  const TempFolder folder;
  EXPECT_TRUE(
      holds(error_of(ErrorCode::io, [&] { RunWriter(folder.path(), Mode::resume); }), "metrics.csv: cannot open"));
  { (void)RunWriter(folder.path(), Mode::create).flush_and_sizes(); }
  RunWriter writer(folder.path(), Mode::resume);
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data,
                             [&] {
                               writer.truncate_to({100000, 0, 0});
                             }),
                    "but the checkpoint counts on 100000"));
}

TEST(RunWriter, SaysWhatItsFilesGrewTo) {
  const TempFolder folder;
  const auto expect_grown = [&](const RunWriter& writer) {
    for (const auto& [name, grown] : writer.grown()) {
      const Bytes bytes = read_file(folder / name);
      EXPECT_EQ(grown, (GrownFile{bytes.size(), sha256(bytes)})) << name;
    }
  };
  RunFileSizes committed;
  {
    RunWriter writer(folder.path(), Mode::create);
    writer.round_finished(mapped_round());
    committed = writer.flush_and_sizes();
    EXPECT_EQ(writer.grown().size(), 3U);
    expect_grown(writer);
    writer.round_finished(mapped_round());
    (void)writer.flush_and_sizes();
    expect_grown(writer);
  }
  RunWriter writer(folder.path(), Mode::resume);
  writer.truncate_to(committed);
  expect_grown(writer);
  writer.round_finished(mapped_round());
  (void)writer.flush_and_sizes();
  expect_grown(writer);
}

TEST(RunWriter, FilesOfWhichNothingIsLeftBeginAnew) {
  const TempFolder folder;
  const auto written = [&] { return read_text(folder / "metrics.csv") + read_text(folder / "clients.csv"); };
  {
    RunWriter writer(folder.path(), Mode::create);
    writer.round_finished(mapped_round());
    (void)writer.flush_and_sizes();
  }
  const std::string whole = written();
  for (const char* name : {"metrics.csv", "clients.csv"}) {
    write_file_atomically(folder / name, std::string_view());
  }
  RunWriter writer(folder.path(), Mode::resume);
  writer.truncate_to({});
  writer.round_finished(mapped_round());
  (void)writer.flush_and_sizes();
  EXPECT_EQ(written(), whole);
}

TEST(RunWriter, ArraysThatAreNotAsWrittenAreNamed) {
  const TempFolder folder;
  RunWriter writer(folder.path(), Mode::create);
  writer.mixing({"fedavg", 1, {0}, {0}, {1.0}});
  writer.profiles({"fedavg", 2, 1, {1, 2}, {0}});
  const std::uint64_t size = writer.flush_and_sizes().events;
  EXPECT_EQ(damage_of_arrays(folder.path(), size), "");
  Bytes bytes = read_file(folder / "profiles/fedavg-2.npy");
  bytes.back() ^= std::byte{1};
  write_file_atomically(folder / "profiles/fedavg-2.npy", bytes);
  EXPECT_TRUE(holds(damage_of_arrays(folder.path(), size), "profiles/fedavg-2.npy: is damaged"));
  EXPECT_EQ(damage_of_arrays(folder.path(), size - 2), "") << "of an event that is not whole nothing is known";
  std::filesystem::remove(folder / "mixing/fedavg-1.npy");
  const std::string both = damage_of_arrays(folder.path(), size);
  EXPECT_TRUE(holds(both, "mixing/fedavg-1.npy: is missing; 1 more are not as they were written")) << both;
}

TEST(RunWriter, RefusesLabelsAndShapesThatCannotBe) {
  const TempFolder folder;
  RunWriter writer(folder.path(), Mode::create);
  EXPECT_EQ(error_of(ErrorCode::invalid_config,
                     [&] {
                       writer.mixing({"../x", 1, {0}, {0}, {1}});
                     }),
            "[report] label must be usable as a file name, got \"../x\"");
  EXPECT_EQ(error_of(ErrorCode::internal,
                     [&] {
                       writer.mixing({"a", 1, {0, 1}, {0}, {1}});
                     }),
            "[report] mixing must be 2 x 1, got 1 weights");
  EXPECT_EQ(error_of(ErrorCode::internal,
                     [&] {
                       writer.profiles({"a", 1, 2, {1, 2, 3}});
                     }),
            "[report] 3 values do not fill 2 rows");
}

}  // namespace
}  // namespace feroma
