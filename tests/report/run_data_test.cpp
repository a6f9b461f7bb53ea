#include "feroma/report/run_data.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "feroma/core/files.h"
#include "feroma/core/npy.h"
#include "report/csv.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"
#include "tests/report/sample_run.h"

namespace feroma {
namespace {

using test::error_of;
using test::holds;
using test::SampleRun;
using test::TempFolder;

/// A small run whose file `name` has `from` replaced by `to`; what load_run says of it.
std::string refusal(const std::string& name, const std::string& from, const std::string& to) {
  const TempFolder folder;
  test::write_sample_run(folder / "run", {});
  std::string text = read_text(folder / "run" / name);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  write_file_atomically(folder / "run" / name, text);
  return error_of(ErrorCode::invalid_data, [&] { (void)load_run(folder / "run"); });
}

std::string read_first_client_line() {
  const TempFolder folder;
  test::write_sample_run(folder.path(), {});
  const std::string text = read_text(folder / "clients.csv");
  const std::size_t begin = text.find('\n') + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(RunData, TellsWhatTheFilesHold) {
  const TempFolder folder;
  test::write_sample_run(folder / "demo", {});
  const RunData run = load_run(folder / "demo/");
  EXPECT_EQ(run.name, "demo");
  ASSERT_EQ(run.algorithms.size(), 2U);
  EXPECT_EQ(run.algorithms[0].label, "feroma-auto");
  EXPECT_EQ(run.algorithms[0].rounds.size(), 8U);
  EXPECT_EQ(run.algorithms[0].rounds[4].clients.size(), 10U);
  EXPECT_EQ(run.algorithms[0].rounds[4].clients[3].distribution, test::sample_distribution({}, 3, 5));
  EXPECT_EQ(run.algorithms[0].rounds[4].clients[3].strategy, "clustered");
  EXPECT_EQ(run.algorithms[0].rounds[4].contraction, 0.5);
  EXPECT_EQ(run.algorithms[0].find(5), &run.algorithms[0].rounds[4]);
  EXPECT_EQ(run.algorithms[0].find(9), nullptr);
  ASSERT_EQ(run.algorithms[0].mixing.size(), 5U);
  EXPECT_EQ(run.algorithms[0].mixing[0].round, 4);
  EXPECT_EQ(read_mixing(run.algorithms[0].mixing[0]).size(), 100U);
  EXPECT_TRUE(run.algorithms[1].mixing.empty());
  EXPECT_EQ(run.algorithms[1].rounds[0].global_share, std::nullopt);
  ASSERT_TRUE(run.summary.has_value());
  EXPECT_EQ(run.summary->results.size(), 2U);
}

TEST(RunData, RoundsOfEarlierVersionsHaveNoTestAccuracy) {
  const TempFolder folder;
  feroma::test::write_sample_run(folder.path(), {.rounds = 4, .test_every = 2});
  EXPECT_EQ(load_run(folder.path()).algorithms[1].rounds[3].test_accuracy, 75);
  EXPECT_FALSE(load_run(folder.path()).algorithms[1].rounds[2].test_accuracy);
  std::string text = read_text(folder / "events.jsonl");
  for (std::size_t at = text.find(",\"test_accuracy\""); at != std::string::npos;
       at = text.find(",\"test_accuracy\"")) {
    text.erase(at, text.find('}', at) - at);
  }
  write_file_atomically(folder / "events.jsonl", text);
  EXPECT_FALSE(load_run(folder.path()).algorithms[1].rounds[3].test_accuracy);
}

TEST(RunData, EventsOfANewerSchemaAreRefusedAndThoseWithoutAreOlder) {
  EXPECT_TRUE(
      holds(refusal("events.jsonl", "\"schema\":1", "\"schema\":7"), "events.jsonl:1: schema 7 is newer than 1"));
  const TempFolder folder;
  test::write_sample_run(folder.path(), {});
  std::string text = read_text(folder / "events.jsonl");
  const std::string field = "\"schema\":1,";
  text.erase(text.find(field), field.size());
  write_file_atomically(folder / "events.jsonl", text);
  EXPECT_EQ(load_run(folder.path()).algorithms.size(), 2U);
}

TEST(RunData, AnUnfinishedRunHasNoSummaryAndMayEndInATornLine) {
  const TempFolder folder;
  test::write_sample_run(folder.path(), {});
  std::filesystem::remove(folder / "summary.json");
  for (const char* name : {"events.jsonl", "clients.csv"}) {
    const std::string text = read_text(folder / name);
    write_file_atomically(folder / name, text.substr(0, text.size() - 5));
  }
  const RunData run = load_run(folder.path());
  EXPECT_FALSE(run.summary.has_value());
  EXPECT_EQ(run.algorithms[1].rounds.back().clients.size(), 9U);
}

TEST(RunData, DamageNamesFileAndLine) {
  EXPECT_TRUE(
      holds(refusal("events.jsonl", "{\"event\":\"round", "{event:\"round"), "events.jsonl:2: is not an event"));
  EXPECT_TRUE(holds(refusal("events.jsonl", "\"loss\":", "\"lost\":"), "events.jsonl:2: loss is missing"));
  // Whoever draws it would ask for all memory; 2^32 + 2 is not round 2.
  for (const char* round : {"2000000000", "-1", "4294967298"}) {
    EXPECT_TRUE(holds(refusal("events.jsonl", "\"round\":1,", fmt::format("\"round\":{},", round)),
                      "events.jsonl:2: round must be "));
    EXPECT_TRUE(holds(refusal("events.jsonl", "\"event\":\"mixing\",\"algorithm\":\"feroma-auto\",\"round\":4",
                              fmt::format("\"event\":\"mixing\",\"algorithm\":\"feroma-auto\",\"round\":{}", round)),
                      ": round must be "));
  }
  EXPECT_TRUE(
      holds(refusal("events.jsonl", "\"receivers\":[0", "\"receivers\":[-1"), "receivers must hold client ids"));
  EXPECT_TRUE(holds(refusal("clients.csv", "num_examples,", "examples,"), "clients.csv:1: must have a column num_exa"));
  EXPECT_TRUE(holds(refusal("clients.csv", "num_examples,", "round,"), "clients.csv:1: column round is there twice"));
  EXPECT_TRUE(holds(refusal("clients.csv", "feroma-auto,1,0,", "feroma-auto,1,x,"), "clients.csv:2: must be a number"));
  EXPECT_TRUE(
      holds(refusal("clients.csv", "feroma-auto,1,0,", "feroma-auto,1,"), "clients.csv:2: must have 9 columns"));
}

TEST(RunData, ColumnsAreFoundByTheirNames) {
  const TempFolder folder;
  test::write_sample_run(folder.path(), {});
  const RunData usual = load_run(folder.path());
  std::istringstream lines(read_text(folder / "clients.csv"));
  std::string turned;  // the columns the other way round, with one more
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> fields = detail::split_csv_line(line, "");
    std::reverse(fields.begin(), fields.end());
    turned += turned.empty() ? "from_a_later_version" : "1";
    for (const std::string& field : fields) {
      turned += "," + field;
    }
    turned += "\n";
  }
  write_file_atomically(folder / "clients.csv", turned);
  const RunData run = load_run(folder.path());
  ASSERT_EQ(run.algorithms.size(), usual.algorithms.size());
  for (std::size_t i = 0; i < run.algorithms.size(); ++i) {
    ASSERT_EQ(run.algorithms[i].rounds.size(), usual.algorithms[i].rounds.size());
    for (std::size_t r = 0; r < run.algorithms[i].rounds.size(); ++r) {
      const std::vector<ClientRecord>& clients = run.algorithms[i].rounds[r].clients;
      const std::vector<ClientRecord>& expected = usual.algorithms[i].rounds[r].clients;
      ASSERT_EQ(clients.size(), expected.size());
      EXPECT_EQ(clients.back().client, expected.back().client);
      EXPECT_EQ(clients.back().distribution, expected.back().distribution);
      EXPECT_EQ(clients.back().accuracy_after, expected.back().accuracy_after);
      EXPECT_EQ(clients.back().strategy, expected.back().strategy);
    }
  }
}

TEST(RunData, ClientsHaveFiguresThatAClientCanHave) {
  const std::string first = read_first_client_line();
  const auto with = [&first](std::size_t column, const std::string& value) {
    std::vector<std::string> fields = detail::split_csv_line(first, "");
    fields.at(column) = value;
    std::string line = fields[0];
    for (std::size_t i = 1; i < fields.size(); ++i) {
      line += "," + fields[i];
    }
    return refusal("clients.csv", first, line);
  };
  for (const char* accuracy : {"1e308", "-1", "100.5", "inf"}) {
    EXPECT_TRUE(holds(with(7, accuracy), "clients.csv:2: accuracy_after must be in 0..100, or nan")) << accuracy;
    EXPECT_TRUE(holds(with(6, accuracy), "clients.csv:2: accuracy_before must be in 0..100, or nan")) << accuracy;
  }
  EXPECT_TRUE(holds(with(4, "-1"), "clients.csv:2: num_examples must be >= 0"));
  EXPECT_TRUE(holds(with(1, "-1"), "clients.csv:2: round must be in 0.."));
  EXPECT_TRUE(holds(with(1, "99"), "clients.csv:2: round 99 of feroma-auto must be one of events.jsonl, and is not"));
}

TEST(RunData, AFinishedRunHasItsLastEvent) {
  const TempFolder folder;
  for (const std::size_t kept : {0U, 1000U}) {
    test::write_sample_run(folder / "run", {});
    const std::string text = read_text(folder / "run/events.jsonl");
    write_file_atomically(folder / "run/events.jsonl", text.substr(0, text.rfind('\n', kept) + 1));
    EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data, [&] { (void)load_run(folder / "run"); }),
                      "events.jsonl: must end with the run, as summary.json is there"));
    std::filesystem::remove_all(folder / "run");
  }
}

TEST(RunData, AMixingEventCannotNameAFileElsewhere) {
  EXPECT_TRUE(holds(refusal("events.jsonl", "\"event\":\"mixing\",\"algorithm\":\"feroma-auto\"",
                            "\"event\":\"mixing\",\"algorithm\":\"../x\""),
                    "mixing must name an algorithm"));
}

TEST(RunData, AnEventNamesTheClientsBehindProfiles) {
  const TempFolder folder;
  test::write_sample_run(folder.path(), {});
  const std::string text = read_text(folder / "events.jsonl");
  write_file_atomically(folder / "events.jsonl",
                        text +
                            "{\"event\":\"profiles\",\"algorithm\":\"feroma-auto\",\"round\":4,"
                            "\"receivers\":[7,3],\"file\":\"profiles/feroma-auto-4.npy\"}\n");
  const RunData run = load_run(folder.path());
  EXPECT_EQ(run.algorithms[0].profile_rows,
            (std::map<int, std::vector<std::uint32_t>>{{4, std::vector<std::uint32_t>{7, 3}}}));
}

TEST(RunData, MixingMustHaveTheShapeOfItsEvent) {
  const TempFolder folder;
  test::write_sample_run(folder.path(), {});
  const RunData run = load_run(folder.path());
  write_file_atomically(folder / "mixing/feroma-auto-4.npy",
                        npy_bytes(std::vector<float>(9), std::vector<std::int64_t>{3, 3}));
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data, [&] { (void)read_mixing(run.algorithms[0].mixing[0]); }),
                    "must be 10 receivers x 10 sources"));
}

TEST(RunData, MixingHoldsWeights) {
  const TempFolder folder;
  test::write_sample_run(folder.path(), {});
  const RunData run = load_run(folder.path());
  for (const float wrong :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -0.01F, 1.01F}) {
    std::vector<float> weights(100, 0.1F);
    weights[7] = wrong;
    write_file_atomically(folder / "mixing/feroma-auto-4.npy", npy_bytes(weights, std::vector<std::int64_t>{10, 10}));
    EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data, [&] { (void)read_mixing(run.algorithms[0].mixing[0]); }),
                      "feroma-auto-4.npy: must hold weights in 0..1"))
        << wrong;
  }
}

TEST(RunData, AFolderWithoutARunIsAnIoError) {
  const TempFolder folder;
  EXPECT_TRUE(holds(error_of(ErrorCode::io, [&] { (void)load_run(folder.path()); }), "config.toml"));
}

}  // namespace
}  // namespace feroma
