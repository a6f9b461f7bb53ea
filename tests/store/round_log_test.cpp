#include "feroma/store/round_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>

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

TEST(RoundLog, NotesSurviveAndEachIsAsItWasNotedLast) {
  const TempFolder folder;
  {
    RoundLog log = open(folder);
    log.note("a", Bytes(1));
    commit(log, 1, {model(1)});
    log.note("b", Bytes(2));
    log.note("a", Bytes(3));
  }
  RoundLog log = open(folder);
  EXPECT_EQ(log.committed(), 1);
  EXPECT_EQ(log.notes(), (std::map<std::string, Bytes>{{"a", Bytes(3)}, {"b", Bytes(2)}}));
  const auto size = std::filesystem::file_size(folder / "state" / "journal");
  log.note("a", Bytes(3));
  EXPECT_EQ(std::filesystem::file_size(folder / "state" / "journal"), size) << "what is known is not written again";
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
TEST(RoundLog, RemembersTheScaleOfTheInputs) {
  const TempFolder folder;
  const std::vector<float> scale{0.1F, -3.0F, 1e-7F, 0.0F};
  {
    RoundLog log = open(folder);
    EXPECT_TRUE(log.input_scale().empty());
    log.fix(scale);
    EXPECT_EQ(log.input_scale(), scale);
    error_of(ErrorCode::internal, [&] { log.fix(scale); });
    commit(log, 1, {model(1)});
  }
  RoundLog log = open(folder);
  EXPECT_EQ(log.input_scale(), scale) << "rounds do not change it";
  EXPECT_EQ(log.committed(), 1);
  TempFolder other;
  RoundLog begun = open(other);
  commit(begun, 1, {model(1)});
  error_of(ErrorCode::internal, [&] { begun.fix(scale); });
}

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

// ---- damage ----

/// Everything below a folder, by name, with its content.
std::map<std::string, Bytes> tree_of(const std::filesystem::path& folder) {
  std::map<std::string, Bytes> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    files[entry.path().lexically_relative(folder).string()] =
        entry.is_regular_file() ? read_file(entry.path()) : Bytes{};
  }
  return files;
}

/// A federation of two rounds with three models in the last one.
class DamagedLog : public ::testing::Test {
 protected:
  DamagedLog() {
    RoundLog log = open(folder_);
    log.start({1, {ClientId{0}}});
    commit(log, 1, {model(1), model(2)});
    length_after_first_ = std::filesystem::file_size(journal_);
    log.start({2, {ClientId{0}}});
    commit(log, 2, {model(3), model(4), model(5)});
  }

  void write_journal(const Bytes& bytes) { folder_.write("state/journal", bytes); }
  /// What opening says, and reading alone says the same; neither changes anything.
  std::string refused() {
    const std::map<std::string, Bytes> before = tree_of(state_);
    const std::string read = error_of(ErrorCode::invalid_data, [&] { const RoundLog log(state_); });
    EXPECT_EQ(error_of(ErrorCode::invalid_data, [&] { open(folder_); }), read);
    EXPECT_EQ(tree_of(state_), before);
    return read;
  }
  std::size_t models() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(state_ / "models"), {}));
  }

  TempFolder folder_;
  std::filesystem::path state_ = folder_ / "state";
  std::filesystem::path journal_ = state_ / "journal";
  std::uintmax_t length_after_first_ = 0;
};

TEST_F(DamagedLog, AFlippedBitInTheLastRecordLosesNoModel) {
  Bytes bytes = read_file(journal_);
  bytes[bytes.size() - 5] ^= std::byte{1};
  write_journal(bytes);
  EXPECT_TRUE(holds(refused(), "journal: is damaged: the content of record 5")) << refused();
  EXPECT_TRUE(holds(refused(), "; restore the folder from a backup")) << "the models of round 1 are gone";
  EXPECT_EQ(models(), 4U);
}

TEST_F(DamagedLog, ALostEndIsMissed) {
  const Bytes whole = read_file(journal_);
  constexpr std::size_t kStep = 7;
  for (std::size_t length = 8; length < whole.size(); length += kStep) {
    write_journal({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)});
    const std::string error = error_of(ErrorCode::invalid_data, [&] { open(folder_); });
    EXPECT_TRUE(holds(error, "/journal: ")) << length << " " << error;
  }
  write_journal({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length_after_first_)});
  EXPECT_TRUE(holds(refused(), "journal: lost its end: round 2 was finished")) << refused();
  EXPECT_EQ(models(), 4U);
}

TEST_F(DamagedLog, AFolderOfAnEarlierVersionHasNoSecondWitness) {
  std::filesystem::remove(state_ / "finished");
  EXPECT_EQ(open(folder_).committed(), 2);
  EXPECT_TRUE(std::filesystem::exists(state_ / "finished"));
  std::filesystem::remove(state_ / "finished");
  Bytes bytes = read_file(journal_);
  bytes.resize(length_after_first_);
  write_journal(bytes);
  EXPECT_TRUE(holds(refused(), "is missing, and round 1 cannot be gone on from without it")) << refused();
}

TEST_F(DamagedLog, NothingIsBegunWhereAJournalWasLost) {
  for (const bool is_empty : {false, true}) {
    std::filesystem::remove(journal_);
    if (is_empty) {
      write_file_atomically(journal_, std::string_view(""));
    }
    EXPECT_TRUE(holds(refused(), "journal: is missing or empty, but ")) << refused();
    std::filesystem::remove(state_ / "finished");
    EXPECT_TRUE(holds(refused(), "models holds 4 files")) << refused();
  }
  EXPECT_EQ(models(), 4U);
}

TEST_F(DamagedLog, AnotherFederationsJournalIsRefused) {
  {
    RoundLog other(folder_ / "other", [] { return JobRecord{"job-2", ""}; });
    commit(other, 2, {model(7)});
  }
  write_journal(read_file(folder_ / "other" / "journal"));
  EXPECT_TRUE(holds(refused(), "is of federation job-2, but")) << refused();
}

TEST_F(DamagedLog, AWitnessThatIsDamagedIsWrittenAnew) {
  Bytes bytes = read_file(state_ / "finished");
  const Bytes whole = bytes;
  bytes[30] ^= std::byte{4};
  write_file_atomically(state_ / "finished", bytes);
  EXPECT_EQ(RoundLog(state_).remarks().size(), 1U);
  {
    const RoundLog log = open(folder_);
    ASSERT_EQ(log.remarks().size(), 2U);
    EXPECT_TRUE(holds(log.remarks()[1], "finished.damaged-2")) << log.remarks()[1];
  }
  EXPECT_EQ(read_file(state_ / "finished"), whole);
  EXPECT_TRUE(RoundLog(state_).remarks().empty());
}

TEST_F(DamagedLog, WhatIsBehindTheLastRoundCanBeSetAside) {
  Bytes bytes = read_file(journal_);
  const Bytes whole = bytes;
  bytes.insert(bytes.end(), 40, std::byte{'x'});
  write_journal(bytes);
  EXPECT_TRUE(holds(refused(), "is whole up to round 2: `feroma server --set-damage-aside`")) << refused();
  const std::vector<std::string> done = RoundLog::set_damage_aside(state_);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_TRUE(holds(done[0], "journal.damaged-2")) << done[0];
  const std::map<std::string, Bytes> tree = tree_of(state_);
  EXPECT_TRUE(std::any_of(tree.begin(), tree.end(), [&](const auto& file) { return file.second == bytes; }));
  EXPECT_EQ(read_file(journal_), whole);
  EXPECT_EQ(open(folder_).committed(), 2);
  EXPECT_TRUE(RoundLog::set_damage_aside(state_).empty());
}

TEST_F(DamagedLog, WhatCannotBeGoneOnFromIsNotSetAside) {
  Bytes bytes = read_file(journal_);
  bytes[bytes.size() - 5] ^= std::byte{1};
  write_journal(bytes);
  const std::map<std::string, Bytes> before = tree_of(state_);
  error_of(ErrorCode::invalid_data, [&] { RoundLog::set_damage_aside(state_); });
  EXPECT_EQ(tree_of(state_), before);
}

/// A third round with a file that grows beside the journal, and bytes behind it of a round that was not finished.
class GrownBeside : public DamagedLog {
 protected:
  GrownBeside() {
    write_lines("round 1\nround 2\nround 3\n");
    const Bytes bytes = read_file(lines_);
    RoundLog log = open(folder_);
    log.commit(3, [](ModelWriter&) {}, {{"lines.txt", {bytes.size(), sha256(bytes)}}});
    write_lines("round 1\nround 2\nround 3\nround 4 was not");
  }
  void write_lines(std::string_view text) { write_file_atomically(lines_, text); }

  std::filesystem::path lines_ = state_ / "lines.txt";
};

TEST_F(GrownBeside, WhatGrewOnIsAsItWas) {
  EXPECT_EQ(RoundLog(state_).grown().at("lines.txt").size, 24U);
  EXPECT_TRUE(RoundLog::set_damage_aside(state_).empty());
  RoundLog log = open(folder_);
  commit(log, 4, {model(1)});
  EXPECT_TRUE(RoundLog(state_).grown().empty());
}

TEST_F(GrownBeside, WhatIsNotAsItWasIsRefused) {
  write_lines("round 1\nround 2\nround 7\nround 4 was not");
  EXPECT_TRUE(holds(refused(), "lines.txt: is not as round 3 left it: the SHA-256 of its first 24 bytes must be "));
  write_lines("round 1\n");
  EXPECT_TRUE(holds(refused(), "lines.txt: is not as round 3 left it: has 8 bytes, and had 24; restore it"))
      << refused();
  std::filesystem::remove(lines_);
  EXPECT_TRUE(holds(refused(), "lines.txt: is not as round 3 left it: is missing, and had 24 bytes")) << refused();
}

TEST_F(GrownBeside, WhatIsNotAsItWasCanBeSetAside) {
  write_lines("round 7\n");
  const std::vector<std::string> done = RoundLog::set_damage_aside(state_);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_TRUE(holds(done[0], "lines.txt.damaged-2")) << done[0];
  const std::map<std::string, Bytes> tree = tree_of(state_);
  EXPECT_EQ(std::count_if(tree.begin(), tree.end(), [](const auto& file) { return file.second.size() == 8; }), 1);
  EXPECT_EQ(std::filesystem::file_size(lines_), 0U);
  EXPECT_EQ(RoundLog(state_).committed(), 3);
  EXPECT_EQ(RoundLog(state_).grown().at("lines.txt").size, 0U);
  EXPECT_TRUE(RoundLog::set_damage_aside(state_).empty());
  std::filesystem::remove(lines_);
  EXPECT_TRUE(holds(RoundLog::set_damage_aside(state_).at(0), "lines.txt begins anew"));
}

TEST_F(DamagedLog, OnlyReadNothingCanBeAdded) {
  RoundLog log(state_);
  error_of(ErrorCode::internal, [&] { log.start({3, {ClientId{0}}}); });
}

TEST_F(DamagedLog, LeftoversStayUntilTheNextRoundIsFinished) {
  const std::filesystem::path left = state_ / "models" / std::string(64, 'a');
  write_file_atomically(left, std::string_view("of a round that was not finished"));
  RoundLog log = open(folder_);
  EXPECT_TRUE(std::filesystem::exists(left));
  commit(log, 3, {model(1)});
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_EQ(models(), 2U);
}

}  // namespace
}  // namespace feroma
