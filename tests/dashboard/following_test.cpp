// Files that grow, are torn, cut, damaged or not there yet.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "core/posix_file.h"
#include "dashboard/answers.h"
#include "dashboard/run_watch.h"
#include "feroma/core/files.h"
#include "feroma/report/run_writer.h"
#include "tests/clocks.h"
#include "tests/core/expect_error.h"
#include "tests/dashboard/sample_folder.h"

namespace feroma::dashboard {
namespace {

using test::append;
using test::fast_clock;
using test::holds;
using test::TempFolder;
using test::wait_until;
using test::write_sample;
using Seen = TailedFile::Seen;

/// Everything that one call gives, joined by '|'.
std::pair<Seen, std::string> poll(TailedFile& file) {
  std::string lines;
  const Seen seen = file.poll(
      [&](const TailedLine& line) { lines += fmt::format("{}@{}={}|", line.number, line.offset, line.text); });
  return {seen, lines};
}

TEST(TailedFile, GivesCompleteLinesOnceAndWaitsForTheEndOfTheLast) {
  const TempFolder folder;
  TailedFile file(folder / "a");
  EXPECT_EQ(poll(file), std::pair(Seen::nothing, std::string()));  // it is not there yet
  append(folder / "a", "one\ntw");
  EXPECT_EQ(poll(file), std::pair(Seen::lines, std::string("1@0=one|")));
  EXPECT_EQ(poll(file), std::pair(Seen::nothing, std::string()));
  append(folder / "a", "o\n\nfour\n");
  EXPECT_EQ(poll(file), std::pair(Seen::lines, std::string("2@4=two|3@8=|4@9=four|")));
}

TEST(TailedFile, NoticesThatAFileWasCutEvenIfItHasGrownPastWhereItWas) {
  const TempFolder folder;
  append(folder / "a", "one\ntwo\n");
  TailedFile file(folder / "a");
  static_cast<void>(poll(file));
  std::filesystem::resize_file(folder / "a", 4);
  EXPECT_EQ(poll(file).first, Seen::cut);
  EXPECT_EQ(poll(file), std::pair(Seen::lines, std::string("1@0=one|")));
  std::filesystem::resize_file(folder / "a", 0);
  append(folder / "a", "uno\ndue\ntre\n");
  EXPECT_EQ(poll(file).first, Seen::cut);
  EXPECT_EQ(poll(file), std::pair(Seen::lines, std::string("1@0=uno|2@4=due|3@8=tre|")));
  std::filesystem::remove(folder / "a");
  EXPECT_EQ(poll(file).first, Seen::cut);
}

TEST(TailedFile, LeavesOutALineThatIsTooLongAndGoesOnAfterIt) {
  const TempFolder folder;
  append(folder / "a", "first\n" + std::string(std::size_t{34} << 20, 'x') + "\nlast\n");
  TailedFile file(folder / "a");
  std::string lines;
  do {
    lines += poll(file).second;
  } while (file.position() < file.size());
  EXPECT_EQ(lines.substr(0, 10), "1@0=first|");
  EXPECT_TRUE(lines.ends_with("=last|")) << lines;
  EXPECT_EQ(file.too_long(), 1U);
  EXPECT_LT(lines.size(), 100U);
}

TEST(RunWatch, SeesWhatTheWriterWrites) {
  const TempFolder folder;
  write_sample(folder.path(), 4, 5);
  const RunWatch watch(folder.path(), {}, fast_clock());
  ASSERT_TRUE(wait_until(watch, [](const Sight& s) { return s.read > 0 && s.read == s.size; }));
  watch.see([](const Sight& sight) {
    EXPECT_FALSE(sight.federation);
    EXPECT_EQ(sight.run.damage.count, 0U);
    EXPECT_EQ(sight.run.config.at("scenario.rounds"), "10");
    ASSERT_EQ(sight.run.algorithms.size(), 1U);
    const AlgorithmState& run = sight.run.algorithms[0];
    EXPECT_EQ(run.rounds.size(), 4U);
    EXPECT_EQ(run.rounds[1].dropped, 1);
    EXPECT_EQ(run.rounds[2].alarms, 1);
    EXPECT_EQ(run.spreads.back().clients, 5U);
    EXPECT_EQ(run.spreads.back().middle, 52);  // of 50 to 54
    EXPECT_EQ(run.mixing.size(), 3U);
    EXPECT_EQ(run.profiles.size(), 3U);
    const ClientState& drifted = run.clients.at(1);
    EXPECT_EQ(drifted.rounds, 4);
    EXPECT_EQ(drifted.bytes_down, 800);
    EXPECT_EQ(drifted.last_alarm, 3);
    EXPECT_FALSE(drifted.alarmed());  // it was quiet in round 4
    EXPECT_EQ(drifted.drops, 1);
    EXPECT_EQ(drifted.reason, "a loss that is not finite");
    EXPECT_DOUBLE_EQ(drifted.epsilon, 0.41);
  });
}

TEST(RunWatch, SpreadsOfAccuraciesAreTenthsAndTheMiddle) {
  const TempFolder folder;
  write_sample(folder.path(), 2, 21);
  const RunWatch watch(folder.path(), {}, fast_clock());
  ASSERT_TRUE(wait_until(watch, [](const Sight& s) { return s.read > 0 && s.read == s.size; }));
  watch.see([](const Sight& sight) {
    const Spread& last = sight.run.algorithms.at(0).spreads.back();  // of 50 to 70
    EXPECT_EQ(last.low, 52);
    EXPECT_EQ(last.middle, 60);
    EXPECT_EQ(last.high, 68);
  });
}

TEST(RunWatch, FollowsFilesThatComeLater) {
  const TempFolder folder;
  const RunWatch watch(folder.path(), {}, fast_clock());
  EXPECT_TRUE(watch.see([](const Sight& s) { return s.run.algorithms.empty(); }));
  write_sample(folder.path(), 1, 2);
  EXPECT_TRUE(wait_until(watch, [](const Sight& s) { return !s.run.algorithms.empty(); }));
}

TEST(RunWatch, BeginsAnewAfterARunWasCutToItsCheckpoint) {
  const TempFolder folder;
  write_sample(folder.path(), 3, 4);
  const RunFileSizes kept{std::filesystem::file_size(folder / "metrics.csv"),
                          std::filesystem::file_size(folder / "clients.csv"),
                          std::filesystem::file_size(folder / "events.jsonl")};
  append(folder / "events.jsonl", R"({"event":"run_finished","seconds":1})"
                                  "\n");
  const RunWatch watch(folder.path(), {}, fast_clock());
  ASSERT_TRUE(wait_until(watch, [](const Sight& s) { return s.run.finished; }));
  const std::uint64_t before = watch.see([](const Sight& s) { return s.epoch; });
  RunWriter writer(folder.path(), RunWriter::Mode::resume);
  writer.truncate_to(kept);
  writer.run_resumed("feroma-auto", 3);
  static_cast<void>(writer.flush_and_sizes());
  ASSERT_TRUE(wait_until(watch, [](const Sight& s) { return s.run.resumed == 1; }));
  watch.see([&](const Sight& sight) {
    EXPECT_GT(sight.epoch, before);
    EXPECT_FALSE(sight.run.finished);
    EXPECT_EQ(sight.run.algorithms.at(0).rounds.size(), 3U);
    EXPECT_EQ(sight.run.algorithms.at(0).clients.at(0).rounds, 3);  // counted once, not twice
  });
}

TEST(RunWatch, ReportsDamageAndShowsTheRest) {
  const TempFolder folder;
  write_sample(folder.path(), 2, 3);
  append(folder / "events.jsonl",
         "no event\n[1]\n{\"event\":\"mixing\",\"algorithm\":\"../x\",\"round\":1}\n"
         "{\"event\":\"clients\",\"algorithm\":\"feroma-auto\",\"round\":2,\"client\":[-1]}\n"
         "{\"event\":\"from a later version\"}\n");
  append(folder / "clients.csv", "feroma-auto,2,zero,0,1,1,1,1,\nshort\n");
  const RunWatch watch(folder.path(), {}, fast_clock());
  ASSERT_TRUE(wait_until(watch, [](const Sight& s) { return s.read > 0 && s.read == s.size; }));
  watch.see([](const Sight& sight) {
    EXPECT_EQ(sight.run.damage.count, 6U);
    std::string all;
    for (const std::string& text : sight.run.damage.first) {
      all += text + "\n";
    }
    EXPECT_TRUE(holds(all, "events.jsonl:9: is not an event")) << all;
    EXPECT_TRUE(holds(all, "algorithm must be usable as a file name"));
    EXPECT_TRUE(holds(all, "must be a client's id, got -1"));
    EXPECT_TRUE(holds(all, "must be a number, got \"zero\""));
    EXPECT_TRUE(holds(all, "must have 9 columns, got 1"));
    EXPECT_EQ(sight.run.algorithms.at(0).rounds.size(), 2U);
  });
}

TEST(RunWatch, ClientsOfAFileThatLacksAColumnAreNotShown) {
  const TempFolder folder;
  write_sample(folder.path(), 2, 3);
  std::string text = read_text(folder / "clients.csv");
  const std::string known = "distribution,num_examples";
  text.replace(text.find(known), known.size(), "distribution,examples");
  write_file_atomically(folder / "clients.csv", text);
  const RunWatch watch(folder.path(), {}, fast_clock());
  ASSERT_TRUE(wait_until(watch, [](const Sight& s) { return s.read > 0 && s.read == s.size; }));
  watch.see([](const Sight& sight) {
    ASSERT_EQ(sight.run.damage.count, 1U) << "once, not for every line";
    EXPECT_TRUE(holds(sight.run.damage.first[0], "clients.csv:1: must have a column num_examples, so nothing of"));
    EXPECT_EQ(sight.run.algorithms.at(0).client_rows, 0U);
    EXPECT_EQ(sight.run.algorithms.at(0).rounds.size(), 2U) << "what the events say is";
  });
}

TEST(RunState, FindsColumnsByTheirNames) {
  RunState state;
  state.take_client(
      "round,algorithm,client,num_examples,distribution,loss,accuracy_before,accuracy_after,from_later,strategy",
      "clients.csv:1", 0);
  state.take_client("3,a,1,50,2,0.5,40,60,9,personal", "clients.csv:2", 100);
  EXPECT_EQ(state.damage.count, 0U);
  const ClientState& client = state.algorithms.at(0).clients.at(1);
  EXPECT_EQ(client.last_round, 3);
  EXPECT_EQ(client.distribution, 2);
  EXPECT_EQ(client.num_examples, 50);
  EXPECT_EQ(client.accuracy_after, 60);
  EXPECT_EQ(client.strategy, "personal");
}

TEST(RunState, SaysThatThereAreMoreClientsThanItKeeps) {
  RunState state;
  const auto take = [&state](std::size_t id) {
    state.take_client(fmt::format("a,1,{},0,5,0.5,40,60,", id), "clients.csv:2", 50);
  };
  for (std::size_t id = 0; id < kMostClients; ++id) {
    take(id);
  }
  EXPECT_FALSE(state.algorithms.at(0).has_more_clients);
  take(kMostClients - 1);  // one that is known
  EXPECT_FALSE(state.algorithms.at(0).has_more_clients);
  take(kMostClients);
  EXPECT_TRUE(state.algorithms.at(0).has_more_clients);
  EXPECT_EQ(state.algorithms.at(0).clients.size(), kMostClients);
  EXPECT_EQ(state.algorithms.at(0).client_rows, kMostClients + 2);
}

TEST(RunWatch, AFileThatCannotBeReadKeepsNothingElseFromBeingShown) {
  const TempFolder folder;
  write_sample(folder.path(), 3, 4);
  std::filesystem::remove(folder / "clients.csv");
  std::filesystem::create_directories(folder / "clients.csv/no file");
  const RunWatch watch(
      folder.path(),
      [] {
        return LiveStatus{R"({"clients":2})", {{7, 1.5}}};
      },
      fast_clock());
  ASSERT_TRUE(wait_until(watch, [](const Sight& s) { return s.live_time > 0; })) << "the server is asked";
  EXPECT_EQ(nlohmann::json::parse(watch.see(run_answer))["state"], "running");
  append(folder / "events.jsonl", "{\"event\":\"run_finished\",\"seconds\":1}\n");
  ASSERT_TRUE(wait_until(watch, [](const Sight& s) { return s.run.finished; }));
  fast_clock().rest_for(0.6, {});  // it is tried again, and fails again
  watch.see([](const Sight& sight) {
    EXPECT_EQ(sight.run.algorithms.at(0).rounds.size(), 3U);
    ASSERT_EQ(sight.run.damage.count, 1U);
    EXPECT_TRUE(holds(sight.run.damage.first[0], "clients.csv: cannot read"));
  });
}

TEST(RunWatch, ARunThatWasRemovedIsWaitedForAgain) {
  const TempFolder folder;
  write_sample(folder.path(), 2, 3);
  const RunWatch watch(folder.path(), {}, fast_clock());
  ASSERT_TRUE(wait_until(watch, [](const Sight& s) { return s.read > 0 && s.read == s.size; }));
  // As a page does that looks only when it is told of a change.
  std::uint64_t seen = 0;
  std::string state;
  const auto follow_until = [&](const std::string& wanted) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (state != wanted && std::chrono::steady_clock::now() < until) {
      if (watch.wait_beyond(seen, std::chrono::milliseconds(100)) > seen) {
        watch.see([&](const Sight& sight) {
          seen = sight.version;
          state = nlohmann::json::parse(run_answer(sight))["state"].get<std::string>();
        });
      }
    }
    return state;
  };
  EXPECT_EQ(follow_until("running"), "running");
  std::filesystem::remove(folder / "events.jsonl");
  std::filesystem::remove(folder / "clients.csv");
  EXPECT_EQ(follow_until("waiting"), "waiting");
  watch.see([](const Sight& sight) {
    EXPECT_EQ(sight.size, 0U);
    EXPECT_FALSE(sight.federation);
    EXPECT_TRUE(sight.run.algorithms.empty());
  });
}

/// Lets the run's last event be an hour old.
void let_age(const TempFolder& folder) {
  const auto before = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(folder / "events.jsonl", before);
}

TEST(RunWatch, ARunThatNobodyHoldsAnyMoreIsStopped) {
  const TempFolder folder;
  write_sample(folder.path(), 2, 3);
  let_age(folder);
  std::optional<detail::PosixFile> writer(std::in_place, folder.path(), O_RDONLY);
  ASSERT_TRUE(writer->try_lock());
  const RunWatch watch(folder.path(), {}, fast_clock());
  const auto state = [&] { return nlohmann::json::parse(watch.see(run_answer))["state"]; };
  ASSERT_TRUE(wait_until(watch, [](const Sight& s) { return s.read > 0 && s.read == s.size; }));
  fast_clock().rest_for(1.5, {});  // it has been asked
  EXPECT_EQ(state(), "running") << "a long round";
  writer.reset();
  EXPECT_TRUE(wait_until(watch, [](const Sight& s) { return s.stopped; }));
  EXPECT_EQ(state(), "stopped");
  writer.emplace(folder.path(), O_RDONLY);
  ASSERT_TRUE(writer->try_lock()) << "who only looks keeps nobody from going on";
  EXPECT_TRUE(wait_until(watch, [](const Sight& s) { return !s.stopped; }));
  writer.reset();
  append(folder / "events.jsonl", "{\"event\":\"run_finished\",\"seconds\":1}\n");
  let_age(folder);
  EXPECT_TRUE(wait_until(watch, [](const Sight& s) { return s.run.finished; }));
  EXPECT_EQ(state(), "finished");
}

TEST(RunWatch, WhatAFinishedRunHasLostIsDamage) {
  const TempFolder folder;
  write_sample(folder.path(), 2, 3);
  write_file_atomically(folder / "summary.json", std::string_view("{}"));
  std::filesystem::remove(folder / "clients.csv");
  let_age(folder);
  const RunWatch watch(folder.path(), {}, fast_clock());
  ASSERT_TRUE(wait_until(watch, [](const Sight& s) { return s.run.damage.count == 2; }));
  watch.see([](const Sight& sight) {
    EXPECT_TRUE(holds(sight.run.damage.first[0], "events.jsonl: has no run_finished, though summary.json is there"));
    EXPECT_TRUE(holds(sight.run.damage.first[1], "clients.csv: must have lines for the rounds of events.jsonl"));
  });
}

TEST(RunWatch, AServerHoldsItsJournal) {
  const TempFolder folder;
  write_sample(folder.path(), 2, 3);
  append(folder / "journal", "FEROMAJ1");
  let_age(folder);
  std::optional<detail::PosixFile> server(std::in_place, folder / "journal", O_RDWR);
  ASSERT_TRUE(server->try_lock());
  const RunWatch watch(folder.path(), {}, fast_clock());
  fast_clock().rest_for(1.5, {});
  EXPECT_FALSE(watch.see([](const Sight& s) { return s.stopped; }));
  server.reset();
  EXPECT_TRUE(wait_until(watch, [](const Sight& s) { return s.stopped; }));
}

TEST(RunWatch, ARunOfALaterVersionIsRefused) {
  const TempFolder folder;
  write_sample(folder.path(), 2, 3);
  std::string events = read_text(folder / "events.jsonl");
  const std::string schema = "\"schema\":1";
  ASSERT_NE(events.find(schema), std::string::npos);
  write_file_atomically(folder / "events.jsonl",
                        std::string_view(events.replace(events.find(schema), schema.size(), "\"schema\":2")));
  const RunWatch watch(folder.path(), {}, fast_clock());
  ASSERT_TRUE(wait_until(watch, [](const Sight& s) { return s.read > 0 && s.read == s.size; }));
  watch.see([](const Sight& sight) {
    ASSERT_EQ(sight.run.damage.count, 1U);
    EXPECT_TRUE(holds(sight.run.damage.first[0], "events.jsonl:1: schema 2 is newer than 1"));
    EXPECT_TRUE(sight.run.algorithms.empty()) << "what follows may mean something else";
  });
}

TEST(RunState, AccuraciesThatAreNotToldCountNowhere) {
  RunState state;
  state.take_client("a,1,1,0,5,nan,nan,nan,", "clients.csv:2", 50);
  state.settle();
  EXPECT_EQ(state.damage.count, 0U);
  EXPECT_TRUE(state.algorithms.at(0).spreads.empty());
  EXPECT_TRUE(std::isnan(state.algorithms.at(0).clients.at(1).accuracy_after));
  state.take_client("a,1,2,0,5,0.5,40,60,", "clients.csv:3", 80);
  state.settle();
  EXPECT_EQ(state.algorithms.at(0).spreads.at(0).clients, 1U);
  EXPECT_EQ(state.algorithms.at(0).spreads.at(0).low, 60);
}

TEST(RunState, WhatNoWriterWroteIsDamageAndEndsNothing) {
  RunState state;
  state.take_client(",0,1,0,1,1,1,1,", "clients.csv:2", 50);  // what a state begins with
  EXPECT_EQ(state.algorithms.at(0).client_lines.size(), 1U);
  for (const char* line : {"a,1,1,0,1,1,1,inf,", "a,1,1,0,1,1,1,1e308,", "a,1,1,0,1,1,-1,1,", "a,1,1,0,-1,1,1,1,"}) {
    state.damage = {};
    state.take_client(line, "clients.csv:3", 70);
    EXPECT_EQ(state.damage.count, 1U) << line;
  }
  state.settle();
  const std::string deep = R"({"event":"run_started","config":{"a":)" + std::string(200'000, '[') +
                           std::string(200'000, ']') + R"(,"b":"[[[[[[[[[[[[[[[[[[\"[["}})";
  state.take_event(deep, "events.jsonl:1", 0);
  EXPECT_EQ(state.damage.count, 2U);
  EXPECT_TRUE(holds(state.damage.first.at(1), "nested deeper than"));
  state.take_event(R"({"event":"run_started","config":{"b":"[[[[[[[[[[[[[[[[[[\"[["}})", "events.jsonl:2", 0);
  EXPECT_EQ(state.damage.count, 2U);
  EXPECT_EQ(state.config.at("b"), "[[[[[[[[[[[[[[[[[[\"[[");
  for (int i = 0; i < 3; ++i) {
    state.take_event(
        R"({"event":"clients","algorithm":"a","round":1,"client":[1],"bytes_up":[9223372036854775807],"bytes_down":[-5]})",
        "events.jsonl:3", 0);
  }
  EXPECT_EQ(state.algorithms.at(1).clients.at(1).bytes_up, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(state.algorithms.at(1).clients.at(1).bytes_down, 0);
}

TEST(RunState, KeepsTheFirstAndTheLastOfVeryManyRounds) {
  RunState state;
  for (int round = 1; round <= 50001; ++round) {
    const std::string line = fmt::format(
        R"({{"event":"round_finished","algorithm":"a","round":{},"loss":1,"accuracy_before":1,"accuracy_after":1,)"
        R"("validation_loss":1,"validation_accuracy":1,"global_share":null,"clustered_share":null,)"
        R"("personal_share":null,"mixing_auc":null,"contraction":null,"column_sum_min":null,"column_sum_max":null,)"
        R"("seconds":1,"bytes_up":1,"bytes_down":1,"epsilon":null}})",
        round);
    state.take_event(line, "x", 0);
  }
  const AlgorithmState& run = state.algorithms.at(0);
  EXPECT_EQ(state.damage.count, 0U);
  EXPECT_LE(run.rounds.size(), kMostRounds);
  EXPECT_GT(run.rounds.size(), kMostRounds / 4);
  EXPECT_EQ(run.rounds.front().record.round, 1);
  EXPECT_EQ(run.rounds.back().record.round, 50001);
  EXPECT_EQ(run.last_round, 50001);
  EXPECT_EQ(run.bytes_up, 50001);
}

TEST(RunWatch, AsksALiveServerAndCountsItAsAChange) {
  const TempFolder folder;
  const RunWatch watch(
      folder.path(),
      [] {
        return LiveStatus{R"({"clients":2})", {{7, 1.5}}};
      },
      fast_clock());
  ASSERT_TRUE(wait_until(watch, [](const Sight& s) { return s.live_time > 0; }));
  EXPECT_EQ(watch.see([](const Sight& s) { return s.live.heard.at(7); }), 1.5);
}

}  // namespace
}  // namespace feroma::dashboard
