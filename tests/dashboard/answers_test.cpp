#include "dashboard/answers.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "dashboard/array_answers.h"
#include "dashboard/matrix_file.h"
#include "feroma/core/files.h"
#include "feroma/core/npy.h"
#include "feroma/report/run_writer.h"
#include "tests/clocks.h"
#include "tests/core/expect_error.h"
#include "tests/dashboard/sample_folder.h"

namespace feroma::dashboard {
namespace {

using nlohmann::json;
using test::error_of;
using test::holds;
using test::TempFolder;
using test::wait_until;
using test::write_sample;

/// A sample run that was read to its end.
class Answers : public ::testing::Test {
 protected:
  void read(int rounds, int clients, const std::string& privacy = "off") {
    write_sample(folder_.path(), rounds, clients, privacy);
    watch_ = std::make_unique<RunWatch>(folder_.path(), std::function<LiveStatus()>(), test::fast_clock());
    ASSERT_TRUE(wait_until(*watch_, [](const Sight& s) { return s.read > 0 && s.read == s.size; }));
  }
  /// The folder with a server behind it that says the same all the time.
  void serve(const LiveStatus& status) {
    watch_ = std::make_unique<RunWatch>(
        folder_.path(), [status] { return status; }, test::fast_clock());
    ASSERT_TRUE(wait_until(*watch_, [](const Sight& s) { return s.live_time > 0 && s.read == s.size; }));
  }
  json run() { return json::parse(watch_->see(run_answer)); }
  json clients(const Query& query) {
    return json::parse(watch_->see([&](const Sight& s) { return clients_answer(s, query); }));
  }
  std::string refusal_of(const Query& query) {
    try {
      static_cast<void>(clients(query));
    } catch (const BadRequest& error) {
      return error.what();
    }
    return "";
  }

  TempFolder folder_;
  std::unique_ptr<RunWatch> watch_;
};

TEST_F(Answers, ARunSaysHowFarItIsAndWhatItsAlgorithmsDid) {
  read(4, 5);
  const json answer = run();
  EXPECT_EQ(answer["api"], 1);
  EXPECT_EQ(answer["state"], "running");
  EXPECT_EQ(answer["planned"]["rounds"], 10);
  EXPECT_EQ(answer["planned"]["algorithms"], 1);
  EXPECT_EQ(answer["server"], nullptr);
  const json& run = answer["algorithms"][0];
  EXPECT_EQ(run["rounds"], 4);
  EXPECT_EQ(run["best"]["accuracy_before"], 40) << "by accuracy as served, as there is no other";
  EXPECT_EQ(run["tested"], nullptr);
  EXPECT_EQ(run["clients"], 5);
  EXPECT_EQ(run["drops"], 1);
  EXPECT_EQ(run["alarms"], 0);  // client 1 was quiet again in round 4
  EXPECT_EQ(run["alarms_so_far"], 1);
  EXPECT_EQ(run["drift_known"], 5);
  EXPECT_EQ(run["bytes_up"], 2000);
  EXPECT_EQ(run["mixing"], json::parse("[[2,4]]"));
  EXPECT_EQ(run["profiles"], json::parse("[[2,4]]"));
  EXPECT_EQ(run["result"], nullptr);
  // 0.40 to 0.44 of a budget of 2: a fifth.
  EXPECT_EQ(run["epsilon"]["bins"], json({0, 0, 5, 0, 0, 0, 0, 0, 0, 0}));
}

TEST_F(Answers, TheBestRoundIsTheBestOnTestClientsWhereRoundsWereTested) {
  RoundRecord record;
  record.algorithm = "fedavg";
  {
    RunWriter writer(folder_.path(), RunWriter::Mode::create);
    write_file_atomically(folder_ / "manifest.json", std::string_view("{}"));
    writer.run_started({{"privacy.mode", {std::string("off"), ""}}});
    const std::vector<std::optional<double>> tests{std::nullopt, 31.0, 30.0, std::nullopt};
    for (record.round = 1; record.round <= 4; ++record.round) {
      record.accuracy_before = 90.0 + record.round;
      record.test_accuracy = tests[static_cast<std::size_t>(record.round - 1)];
      writer.round_finished(record);
    }
    static_cast<void>(writer.flush_and_sizes());
  }
  watch_ = std::make_unique<RunWatch>(folder_.path(), std::function<LiveStatus()>(), test::fast_clock());
  ASSERT_TRUE(wait_until(*watch_, [](const Sight& s) { return s.read > 0 && s.read == s.size; }));
  const json run = this->run()["algorithms"][0];
  EXPECT_EQ(run["best"]["round"], 2);
  EXPECT_EQ(run["tested"]["round"], 3);
  EXPECT_EQ(run["tested"]["test_accuracy"], 30);
  EXPECT_EQ(run["last"]["test_accuracy"], nullptr);
  const json history = json::parse(watch_->see([](const Sight& s) { return history_answer(s, {}); }));
  EXPECT_EQ(history["columns"]["test_accuracy"], json::parse("[null,31.0,30.0,null]"));
}

TEST_F(Answers, AFinishedRunHasItsResults) {
  write_sample(folder_.path(), 3, 4);
  {
    RunWriter writer(folder_.path(), RunWriter::Mode::resume);
    ResultRecord result;
    result.label = "feroma-auto";
    result.algorithm = "feroma";
    result.preset = "auto";
    result.accuracy = 81.5;
    result.accuracy_known = 84.25;
    result.match_rate = 0.75;
    result.seconds_total = 12;
    writer.algorithm_finished(result);
    ResultRecord none;
    none.label = "ifca";
    none.algorithm = "ifca";
    none.not_applicable = "there is one cluster";
    writer.algorithm_finished(none);
    writer.run_finished(13);
    static_cast<void>(writer.flush_and_sizes());
  }
  watch_ = std::make_unique<RunWatch>(folder_.path(), std::function<LiveStatus()>(), test::fast_clock());
  ASSERT_TRUE(wait_until(*watch_, [](const Sight& s) { return s.run.finished; }));
  const json answer = run();
  EXPECT_EQ(answer["state"], "finished");
  EXPECT_EQ(answer["damage"]["count"], 0);
  const json& result = answer["algorithms"][0]["result"];
  EXPECT_EQ(result["accuracy"], 81.5);
  EXPECT_EQ(result["accuracy_known"], 84.25);
  EXPECT_EQ(result["accuracy_few_label"], nullptr);
  EXPECT_EQ(result["match_rate"], 0.75);
  EXPECT_EQ(result["seconds_total"], 12);
  ASSERT_EQ(answer["algorithms"].size(), 2U);
  EXPECT_EQ(answer["algorithms"][1]["result"]["not_applicable"], "there is one cluster");
}

TEST_F(Answers, RoundsWithoutAccuraciesHaveNoBestOne) {
  RoundRecord record;
  record.algorithm = "fedavg";
  record.loss = record.accuracy_before = record.accuracy_after = std::numeric_limits<double>::quiet_NaN();
  ClientRecord client;
  client.loss = client.accuracy_before = client.accuracy_after = record.loss;
  record.clients = {client};
  {
    RunWriter writer(folder_.path(), RunWriter::Mode::create);  // of a server, without a manifest
    writer.run_started({{"privacy.mode", {std::string("off"), ""}}});
    for (record.round = 1; record.round <= 2; ++record.round) {
      writer.round_finished(record);
    }
    static_cast<void>(writer.flush_and_sizes());
  }
  watch_ = std::make_unique<RunWatch>(folder_.path(), std::function<LiveStatus()>(), test::fast_clock());
  ASSERT_TRUE(wait_until(*watch_, [](const Sight& s) { return s.read > 0 && s.read == s.size; }));
  const json answer = run();
  EXPECT_EQ(answer["damage"]["count"], 0) << answer["damage"];
  EXPECT_EQ(answer["algorithms"][0]["best"], nullptr);
  EXPECT_EQ(answer["algorithms"][0]["last"]["accuracy_after"], nullptr);
  EXPECT_EQ(clients({})["rows"][0]["accuracy_after"], nullptr);
}

TEST_F(Answers, AHistoryIsThinnedToThePointsThatAreWanted) {
  read(9, 2);
  const auto history = [&](const Query& query) {
    return json::parse(watch_->see([&](const Sight& s) { return history_answer(s, query); }));
  };
  EXPECT_EQ(history({})["columns"]["round"].size(), 9U);
  EXPECT_FALSE(history({})["thinned"]);
  const json thin = history({{"points", "3"}, {"algorithm", "feroma-auto"}});
  EXPECT_EQ(thin["columns"]["round"], json({1, 5, 9}));
  EXPECT_EQ(thin["columns"]["accuracy_after"], json({15, 55, 95}));
  EXPECT_EQ(thin["columns"]["high"], json({51, 51, 51}));
  EXPECT_TRUE(thin["thinned"]);
  EXPECT_THROW(static_cast<void>(history({{"points", "1"}})), BadRequest);
  EXPECT_THROW(static_cast<void>(history({{"points", "3x"}})), BadRequest);
  EXPECT_THROW(static_cast<void>(history({{"algorithm", "other"}})), BadRequest);
}

TEST_F(Answers, ClientsAreSortedFilteredAndPaged) {
  read(3, 7);
  const json page = clients({{"sort", "accuracy_after"}, {"order", "descending"}, {"size", "3"}, {"page", "1"}});
  EXPECT_EQ(page["of"], 7);
  ASSERT_EQ(page["rows"].size(), 3U);
  EXPECT_EQ(page["rows"][0]["client"], 3);
  EXPECT_EQ(page["rows"][2]["client"], 1);
  EXPECT_EQ(page["rows"][0]["num_examples"], 103);
  EXPECT_EQ(page["rows"][0]["distribution"], 0);
  const json alarmed = clients({{"filter", "alarm"}});
  ASSERT_EQ(alarmed["matching"], 1);
  EXPECT_EQ(alarmed["rows"][0]["client"], 1);
  EXPECT_EQ(alarmed["rows"][0]["moved"], 4.5);
  EXPECT_EQ(clients({{"filter", "dropped"}})["rows"][0]["reason"], "a loss that is not finite");
  EXPECT_EQ(clients({{"id", "4"}})["rows"][0]["client"], 4);
  EXPECT_EQ(clients({{"page", "99"}})["rows"].size(), 0U);
  EXPECT_TRUE(holds(refusal_of({{"sort", "password"}}), "sort must be one of client, strategy"));
  EXPECT_TRUE(holds(refusal_of({{"size", "201"}}), "size must be a whole number in 1..200"));
  EXPECT_TRUE(holds(refusal_of({{"order", "up"}}), "order must be"));
  EXPECT_TRUE(holds(refusal_of({{"filter", "x"}}), "filter must be"));
  EXPECT_TRUE(holds(refusal_of({{"id", "-1"}}), "id must be"));
}

std::vector<int> ids(const json& answer) {
  std::vector<int> clients;
  for (const json& row : answer["rows"]) {
    clients.push_back(row["client"].get<int>());
  }
  return clients;
}

TEST_F(Answers, ClientsThatAServerKnowsHaveRowsBeforeTheyHaveFinishedARound) {
  write_sample(folder_.path(), 3, 3);
  serve({"{}", {{1, 0.5}, {7, 1.5}, {8, 2.5}}, {{1, 4}, {9, 2}}});
  const json answer = clients({});
  EXPECT_EQ(ids(answer), (std::vector<int>{0, 1, 2, 7, 8, 9}));
  EXPECT_EQ(answer["of"], 6);
  EXPECT_EQ(answer["matching"], 6);
  EXPECT_EQ(answer["connected"], 3);
  const json& newcomer = answer["rows"][3];
  EXPECT_EQ(newcomer["heard_seconds"], 1.5);
  EXPECT_EQ(newcomer["rounds"], 0);
  EXPECT_EQ(newcomer["alarm"], false);
  EXPECT_EQ(newcomer["refused"], 0);
  for (const char* key : {"strategy", "moved", "last_time", "reason", "epsilon", "distribution", "num_examples", "loss",
                          "accuracy_before", "accuracy_after"}) {
    EXPECT_EQ(newcomer[key], nullptr) << key;
  }
  EXPECT_EQ(answer["rows"][1]["refused"], 4);
  EXPECT_EQ(run()["refusals"], 6) << "of all clients";
  EXPECT_EQ(answer["rows"][5]["heard_seconds"], nullptr) << "it was refused and is gone";

  EXPECT_EQ(ids(clients({{"size", "4"}, {"page", "1"}})), (std::vector<int>{8, 9}));
  EXPECT_EQ(ids(clients({{"sort", "num_examples"}, {"order", "descending"}})), (std::vector<int>{2, 1, 0, 7, 8, 9}));
  EXPECT_EQ(ids(clients({{"sort", "refused"}, {"order", "descending"}, {"size", "3"}})), (std::vector<int>{1, 9, 0}));
  EXPECT_EQ(ids(clients({{"filter", "dropped"}})), (std::vector<int>{1, 9})) << "dropped out or refused";
  EXPECT_EQ(clients({{"filter", "dropped"}})["of"], 6);
  EXPECT_EQ(ids(clients({{"filter", "alarm"}})), (std::vector<int>{1}));
  EXPECT_EQ(ids(clients({{"id", "8"}})), (std::vector<int>{8}));
}

TEST_F(Answers, AServerThatHasFinishedNoRoundShowsWhoIsThere) {
  serve({"{}", {{3, 0.5}, {4, 1.5}}});
  const json answer = clients({{"sort", "bytes_up"}});
  EXPECT_EQ(answer["algorithm"], nullptr);
  EXPECT_EQ(answer["of"], 2);
  EXPECT_EQ(ids(answer), (std::vector<int>{3, 4}));
  EXPECT_EQ(refusal_of({{"algorithm", "feroma-auto"}}), "there is no such algorithm");
  watch_ = std::make_unique<RunWatch>(folder_.path(), std::function<LiveStatus()>(), test::fast_clock());
  EXPECT_EQ(refusal_of({}), "no algorithm has begun yet") << "there is no server";
}

TEST_F(Answers, RefusalsAreKnownToAServerOnlyAndUnderABudgetToo) {
  read(3, 2, "gaussian");
  EXPECT_EQ(clients({})["rows"][0].at("refused"), nullptr);
  serve({"{}", {}, {{1, 2}}});
  EXPECT_EQ(clients({})["rows"][0]["refused"], 0);
  EXPECT_EQ(clients({})["rows"][1]["refused"], 2);
}

TEST_F(Answers, AnAlarmIsAProfileThatMovedMoreThanThreeNoiseFloors) {
  write_sample(folder_.path(), 2, 4);
  test::append(folder_ / "events.jsonl", R"({"event":"clients","algorithm":"feroma-auto","round":2,)"
                                         R"("client":[0,2,3],"moved":[3.0,3.01,null]})"
                                         "\n");
  watch_ = std::make_unique<RunWatch>(folder_.path(), std::function<LiveStatus()>(), test::fast_clock());
  ASSERT_TRUE(wait_until(*watch_, [](const Sight& s) { return s.read > 0 && s.read == s.size; }));
  const json alarmed = clients({{"filter", "alarm"}});
  EXPECT_EQ(alarmed["alarm_above"], 3);
  EXPECT_EQ(ids(alarmed), (std::vector<int>{2}));
  const json answer = run();
  EXPECT_EQ(answer["damage"]["count"], 0) << answer["damage"];
  EXPECT_EQ(answer["algorithms"][0]["alarms"], 1);
  EXPECT_EQ(answer["algorithms"][0]["last"]["alarms"], 1);
  EXPECT_EQ(answer["algorithms"][0]["drift_known"], 2) << "of client 3 it is not known";
  ProfileMap map;
  EXPECT_EQ(json::parse(map.answer(*watch_, {}))["alarm_above"], 3);
}

/// How the answer lists these rounds as those that have mixing.
json listed(const std::vector<int>& rounds) {
  Sight sight;
  sight.folder = "run";
  for (const int round : rounds) {
    sight.run.take_event(fmt::format(R"({{"event":"mixing","algorithm":"a","round":{}}})", round), "x", 0);
  }
  return json::parse(run_answer(sight))["algorithms"][0]["mixing"];
}

TEST(MappedRounds, AreAllWithinReachHoweverManyThereAre) {
  EXPECT_EQ(listed({7}), json::parse("[[7,7]]"));
  EXPECT_EQ(listed({1, 2, 2, 3, 5, 8, 9}), json::parse("[[1,3],[5,5],[8,9]]"));
  std::vector<int> all;
  std::vector<int> with_gaps;
  std::vector<int> every_other;
  for (int round = 1; round <= 2500; ++round) {
    all.push_back(round);
    if (round % 100 != 0) {
      with_gaps.push_back(round);
    }
    every_other.push_back(2 * round - 1);
  }
  EXPECT_EQ(listed(all), json::parse("[[1,2500]]"));
  const json gaps = listed(with_gaps);
  ASSERT_EQ(gaps.size(), 25U);
  EXPECT_EQ(gaps[0], json::parse("[1,99]"));
  EXPECT_EQ(gaps[24], json::parse("[2401,2499]"));
  const json last = listed(every_other);
  ASSERT_EQ(last.size(), 1000U) << "the oldest are left out";
  EXPECT_EQ(last[0], json::parse("[3001,3001]"));
  EXPECT_EQ(last[999], json::parse("[4999,4999]"));
}

TEST_F(Answers, UnderABudgetExactCountsAreNeitherShownNorSortedBy) {
  read(3, 4, "gaussian");
  EXPECT_FALSE(run()["privacy"]["counts_told"]);
  const json answer = clients({});
  for (const char* key : {"num_examples", "loss", "accuracy_before", "accuracy_after", "distribution"}) {
    EXPECT_FALSE(answer["rows"][0].contains(key)) << key;
    EXPECT_NE(refusal_of({{"sort", key}}), "") << key;
  }
  EXPECT_TRUE(answer["rows"][0].contains("epsilon"));
  EXPECT_EQ(run()["algorithms"][0]["last"]["accuracy_after"], 35);  // a simulation knows it all the same
}

TEST_F(Answers, FewClientsAccuraciesAreNotSpreadOutUnderABudget) {
  const auto low = [&] {
    return json::parse(watch_->see([](const Sight& s) { return history_answer(s, {}); }))["columns"]["low"];
  };
  read(3, 9, "gaussian");
  EXPECT_EQ(low(), json({nullptr, nullptr, nullptr}));
}

TEST_F(Answers, WhereTheModeIsNotKnownNothingExactIsShown) {
  read(3, 4, "of a later version");
  EXPECT_FALSE(run()["privacy"]["counts_told"]);
}

TEST_F(Answers, AFederationUnderABudgetHasNoAccuracyToShow) {
  read(3, 4, "pure");
  std::filesystem::remove(folder_ / "manifest.json");
  watch_ = std::make_unique<RunWatch>(folder_.path(), std::function<LiveStatus()>(), test::fast_clock());
  ASSERT_TRUE(wait_until(*watch_, [](const Sight& s) { return s.federation && s.read == s.size; }));
  EXPECT_EQ(run()["algorithms"][0]["last"]["accuracy_after"], nullptr);
  EXPECT_EQ(run()["algorithms"][0]["best"], nullptr);
}

TEST_F(Answers, MixingOfARoundNamesItsClients) {
  read(3, 4);
  const json answer = json::parse(mixing_answer(*watch_, {{"round", "3"}}));
  EXPECT_EQ(answer["round"], 3);
  EXPECT_EQ(answer["receivers"], json::parse("[[0,0],[1,1],[2,2],[3,3]]"));
  EXPECT_EQ(answer["weights"].size(), 16U);
  EXPECT_EQ(answer["weights"][5], 0.75);
  EXPECT_EQ(answer["weights"][6], 0.08333);
  EXPECT_EQ(json::parse(mixing_answer(*watch_, {}))["round"], 3);  // the last one
  EXPECT_THROW(static_cast<void>(mixing_answer(*watch_, {{"round", "1"}})), BadRequest);
}

TEST_F(Answers, ALargeMixingIsDrawnInBlocksWhoseRowsStillSumToOne) {
  read(2, 20);
  const json answer = json::parse(mixing_answer(*watch_, {{"cells", "8"}}));
  EXPECT_EQ(answer["receivers_of"], 20);
  EXPECT_EQ(answer["receivers"], json::parse("[[0,2],[3,5],[6,8],[9,11],[12,14],[15,17],[18,19]]"));
  double row = 0;
  for (std::size_t i = 0; i < 7; ++i) {
    row += answer["weights"][i].get<double>();
  }
  EXPECT_NEAR(row, 1, 1e-4);
  EXPECT_NEAR(answer["weights"][0].get<double>(), 0.75 + 2 * 0.25 / 19, 1e-4);
}

TEST_F(Answers, AMixingFileOfAnotherShapeOrNoneIsAnError) {
  read(3, 4);
  const std::vector<float> values(6);
  const std::array<std::int64_t, 2> shape{2, 3};
  write_file_atomically(folder_ / "mixing/feroma-auto-3.npy", npy_bytes(values, shape));
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data, [&] { static_cast<void>(mixing_answer(*watch_, {})); }),
                    "must be 4 receivers x 4 sources, is 2 x 3"));
  std::filesystem::remove(folder_ / "mixing/feroma-auto-3.npy");
  EXPECT_TRUE(holds(error_of(ErrorCode::io, [&] { static_cast<void>(mixing_answer(*watch_, {})); }), "cannot open"));
}

TEST_F(Answers, WhatIsNoWeightIsAnError) {
  read(3, 4);
  const std::array<std::int64_t, 2> shape{4, 4};
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), kInfinity, 1e30F, -0.5F}) {
    std::vector<float> values(16, 0.25F);
    values[5] = wrong;
    write_file_atomically(folder_ / "mixing/feroma-auto-3.npy", npy_bytes(values, shape));
    EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data, [&] { static_cast<void>(mixing_answer(*watch_, {})); }),
                      "feroma-auto-3.npy: must hold "))
        << wrong;
  }
}

TEST_F(Answers, AnInfiniteProfileIsAGapInATrailAndAnErrorAtItsEnd) {
  read(4, 6);
  std::vector<float> values(18, 1);
  values[3] = std::numeric_limits<float>::infinity();  // of client 1
  write_file_atomically(folder_ / "profiles/feroma-auto-3.npy", npy_bytes(values, std::array<std::int64_t, 2>{6, 3}));
  ProfileMap map;
  const json answer = json::parse(map.answer(*watch_, {{"round", "4"}}));
  EXPECT_EQ(answer["clients"][1]["path"][1], nullptr);
  EXPECT_NE(answer["clients"][0]["path"][1], nullptr);
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data,
                             [&] {
                               static_cast<void>(map.answer(*watch_, {{"round", "3"}}));
                             }),
                    "profiles of round 3: that of client 1 cannot be read"));
}

TEST_F(Answers, ProfilesLieOnAPlaneWithTrails) {
  read(4, 6);
  ProfileMap map;
  const json answer = json::parse(map.answer(*watch_, {{"round", "3"}, {"trail", "2"}}));
  EXPECT_EQ(answer["rounds"], json({2, 3}));
  ASSERT_EQ(answer["clients"].size(), 6U);
  const json& first = answer["clients"][0];
  EXPECT_EQ(first["distribution"], 0);
  EXPECT_EQ(first["strategy"], "clustered");
  EXPECT_EQ(answer["clients"][1]["moved"], 4.5);
  // Profiles are (3 x kind, round, 0.5): kinds lie along the first axis, rounds along the second.
  const double apart = std::abs(answer["clients"][1]["path"][1][0].get<double>() - first["path"][1][0].get<double>());
  EXPECT_NEAR(apart, 3, 0.05);
  const double step = std::abs(first["path"][1][1].get<double>() - first["path"][0][1].get<double>());
  EXPECT_NEAR(step, 1, 0.05);
  EXPECT_NEAR(answer["explained"][0].get<double>() + answer["explained"][1].get<double>(), 1, 1e-6);
  EXPECT_EQ(json::parse(map.answer(*watch_, {{"points", "2"}}))["clients"].size(), 2U);
  EXPECT_EQ(json::parse(map.answer(*watch_, {{"points", "2"}}))["of"], 6);
}

TEST_F(Answers, AnOldProfileFileThatIsGoneLeavesAGapInTheTrails) {
  read(4, 6);
  std::filesystem::remove(folder_ / "profiles/feroma-auto-2.npy");
  ProfileMap map;
  const json answer = json::parse(map.answer(*watch_, {{"round", "4"}}));
  EXPECT_EQ(answer["rounds"], json({2, 3, 4}));
  EXPECT_EQ(answer["clients"][0]["path"][0], nullptr);
  EXPECT_NE(answer["clients"][0]["path"][1], nullptr);
  EXPECT_NE(error_of(ErrorCode::io, [&] { static_cast<void>(map.answer(*watch_, {{"round", "2"}})); }), "");
}

TEST(Plane, PointsThatDoNotDifferLieInTheMiddle) {
  const std::vector<float> points{1, 2, 3, 1, 2, 3};
  const Plane plane = fit_plane(points, 3);
  EXPECT_EQ(plane.place(std::span(points).first(3)), (std::array<double, 2>{0, 0}));
  EXPECT_EQ(plane.explained, (std::array<double, 2>{0, 0}));
}

TEST(MatrixFile, RefusesWhatIsNoMatrixOfFloats) {
  const TempFolder folder;
  const auto refusal = [&](std::string text) {
    write_file_atomically(folder / "a.npy", std::string_view(text));
    return error_of(ErrorCode::invalid_data, [&] { static_cast<void>(MatrixFile(folder / "a.npy")); });
  };
  EXPECT_TRUE(holds(refusal("nothing of the kind"), "is not a version 1.0 .npy file"));
  const std::vector<float> values(6);
  const Bytes good = npy_bytes(values, std::array<std::int64_t, 2>{2, 3});
  std::string text(reinterpret_cast<const char*>(good.data()), good.size());
  EXPECT_TRUE(holds(refusal(text + "x"), "must have 2 x 3 values"));
  EXPECT_TRUE(holds(refusal(text.substr(0, text.size() - 4)), "must have 2 x 3 values"));
  std::string other = text;
  other.replace(other.find("<f4"), 3, "<f8");
  EXPECT_TRUE(holds(refusal(other), "must hold float32 values in C order"));
  other = text;
  other.replace(other.find("(2, 3)"), 6, "(6,  )");
  EXPECT_TRUE(holds(refusal(other), "must have two dimensions"));
}

}  // namespace
}  // namespace feroma::dashboard
