#include "feroma/store/round_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "feroma/core/files.h"
#include "feroma/models/spec.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"

namespace feroma {
namespace {

using test::error_of;
using test::holds;
using test::TempFolder;

const JobRecord kJob{"job-1", "[scenario]\nseed = 1\n"};

RoundLog open(const TempFolder& folder) {
  return {folder / "state", [] { return kJob; }};
}

ParametersPtr model(std::uint64_t seed) { return share(initialise(make_model("mlp", {1, 4, 4}, 3), Rng(seed))); }

void commit(RoundLog& log, Round round, const std::vector<ParametersPtr>& models) {
  log.commit(round, [&](ModelWriter& out) {
    for (const ParametersPtr& one : models) {
      out.put(one);
    }
    out.out().put<std::int32_t>(round);
  });
}

std::vector<ParametersPtr> load(const RoundLog& log, std::size_t count, Round& round) {
  std::vector<ParametersPtr> models;
  log.load(model(1)->shared_layout(), [&](ModelReader& in) {
    for (std::size_t i = 0; i < count; ++i) {
      models.push_back(in.get_model());
    }
    round = in.in().get<std::int32_t>();
  });
  return models;
}

bool same(const Parameters& a, const Parameters& b) { return std::ranges::equal(a.values(), b.values()); }

TEST(RoundLog, RemembersJobRoundAndModels) {
  const TempFolder folder;
  {
    RoundLog log = open(folder);
    EXPECT_EQ(log.committed(), 0);
    EXPECT_FALSE(log.started());
    log.start({1, {ClientId{0}, ClientId{4}}});
    commit(log, 1, {model(1), model(2), model(1)});
    log.start({2, {ClientId{4}}});
  }
  RoundLog log(folder / "state", [] { return JobRecord{"another", ""}; });
  EXPECT_EQ(log.job(), kJob);
  EXPECT_EQ(log.committed(), 1);
  EXPECT_EQ(log.started(), (StartedRound{2, {ClientId{4}}}));
  Round round = 0;
  const std::vector<ParametersPtr> models = load(log, 3, round);
  EXPECT_EQ(round, 1);
  EXPECT_TRUE(same(*models[0], *model(1)));
  EXPECT_TRUE(same(*models[1], *model(2)));
  EXPECT_TRUE(same(*models[2], *model(1)));
}

TEST(RoundLog, FinishesNoRoundWithAModelThatIsNotFinite) {
  const TempFolder folder;
  Parameters broken = model(2)->clone();
  broken.values()[5] = std::numeric_limits<float>::infinity();
  {
    RoundLog log = open(folder);
    commit(log, 1, {model(1)});
    const std::string error = error_of(ErrorCode::invalid_data, [&] {
      commit(log, 2, {model(3), share(std::move(broken))});
    });
    EXPECT_TRUE(holds(error, "round 2: models must be finite")) << error;
  }
  const RoundLog log = open(folder);
  EXPECT_EQ(log.committed(), 1);
  Round round = 0;
  EXPECT_TRUE(same(*load(log, 1, round).front(), *model(1)));
}

TEST(RoundLog, KeepsEachModelOnceAndForgetsWhatNobodyNames) {
  const TempFolder folder;
  RoundLog log = open(folder);
  const auto files = [&] { return std::distance(std::filesystem::directory_iterator(folder / "state/models"), {}); };
  commit(log, 1, {model(1), model(1), model(2)});
  EXPECT_EQ(files(), 3) << "two models and the state";
  commit(log, 2, {model(2), model(3)});
  EXPECT_EQ(files(), 3);
  EXPECT_EQ(log.committed(), 2);
}

TEST(RoundLog, ARoundIsFinishedOnce) {
  const TempFolder folder;
  RoundLog log = open(folder);
  commit(log, 3, {model(1)});
  error_of(ErrorCode::internal, [&] { commit(log, 3, {model(2)}); });
}

// A power loss may leave the right name on the wrong content; a round that is played again must not trust it.
TEST(RoundLog, WhatAnUnfinishedRoundLeftIsWrittenAgain) {
  const TempFolder folder;
  {
    RoundLog log = open(folder);
    commit(log, 1, {model(1)});
  }
  ArchiveWriter values;
  values.put(model(2)->values());
  const std::filesystem::path left = folder / "state" / "models" / sha256(values.bytes());
  write_file_atomically(left, std::string_view("half"));
  RoundLog log = open(folder);
  EXPECT_FALSE(std::filesystem::exists(left));
  commit(log, 2, {model(2)});
  Round round = 0;
  EXPECT_EQ(load(log, 1, round).front()->values()[0], model(2)->values()[0]);
}

TEST(RoundLog, ADamagedModelIsNotBelieved) {
  const TempFolder folder;
  RoundLog log = open(folder);
  commit(log, 1, {model(1)});
  for (const auto& entry : std::filesystem::directory_iterator(folder / "state/models")) {
    Bytes bytes = read_file(entry.path());
    bytes.back() ^= std::byte{1};
    write_file_atomically(entry.path(), bytes);
  }
  Round round = 0;
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data, [&] { static_cast<void>(load(log, 1, round)); }), "is damaged"));
}

}  // namespace
}  // namespace feroma
