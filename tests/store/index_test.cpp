#include "feroma/store/index.h"

#include <gtest/gtest.h>

#include "feroma/core/files.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"

namespace feroma {
namespace {

using test::error_of;
using test::holds;
using test::TempFolder;
using Mode = StoreIndex::Mode;

StoreEntry entry(const std::string& algorithm, unsigned client, int round) {
  StoreEntry made;
  made.algorithm = algorithm;
  made.client = ClientId{client};
  made.round = round;
  made.model_file = "models/" + algorithm + "-" + std::to_string(client) + ".safetensors";
  made.profile = {1.5F, -2.0F};
  made.distribution = 4;
  made.validation_score = 81.25;
  made.num_examples = 1600;
  return made;
}

TEST(StoreIndex, ListsWhatWasInsertedInOrder) {
  const TempFolder folder;
  StoreEntry bare = entry("fedavg", 0, 1);
  bare.profile.clear();
  bare.validation_score.reset();
  const std::vector<StoreEntry> entries{entry("feroma-auto", 3, 2), entry("feroma-auto", 1, 2), bare,
                                        entry("feroma-auto", 1, 1)};
  {
    StoreIndex index(folder / "store.db", Mode::create);
    index.insert(entries);
  }
  const StoreIndex index(folder / "store.db", Mode::read_only);
  const std::vector<StoreEntry> expected{entries[2], entries[3], entries[1], entries[0]};
  EXPECT_EQ(index.list({}), expected);
  EXPECT_EQ(index.list({.algorithm = "feroma-auto", .round = 2}), (std::vector<StoreEntry>{entries[1], entries[0]}));
  EXPECT_EQ(index.list({.algorithm = std::nullopt, .round = 1}), (std::vector<StoreEntry>{entries[2], entries[3]}));
  EXPECT_TRUE(index.list({.algorithm = "ifca", .round = std::nullopt}).empty());
}

TEST(StoreIndex, TheSameKeyReplacesTheEntry) {
  const TempFolder folder;
  StoreIndex index(folder / "store.db", Mode::create);
  index.insert(std::vector{entry("a", 1, 1)});
  StoreEntry better = entry("a", 1, 1);
  better.validation_score = 90.0;
  index.insert(std::vector{better});
  EXPECT_EQ(index.list({}), std::vector{better});
}

TEST(StoreIndex, ADigestIsOfAllThatIsThereOfAnAlgorithm) {
  const TempFolder folder;
  StoreIndex index(folder / "store.db", Mode::create);
  const auto digest_with = [&](auto change) {
    StoreEntry other = entry("a", 1, 1);
    change(other);
    index.remove_after("a", 0);
    index.insert(std::vector{other});
    return index.digest("a");
  };
  const std::string digest = digest_with([](StoreEntry&) {});
  index.insert(std::vector{entry("b", 1, 1)});
  EXPECT_EQ(index.digest("a"), digest) << "others may be added";
  EXPECT_NE(digest_with([](StoreEntry& e) { e.client.reset(); }), digest);
  EXPECT_NE(digest_with([](StoreEntry& e) { e.round = 2; }), digest);
  EXPECT_NE(digest_with([](StoreEntry& e) { e.model_file += "x"; }), digest);
  EXPECT_NE(digest_with([](StoreEntry& e) { e.profile[1] = 2; }), digest);
  EXPECT_NE(digest_with([](StoreEntry& e) { e.distribution = 5; }), digest);
  EXPECT_NE(digest_with([](StoreEntry& e) { e.validation_score.reset(); }), digest);
  EXPECT_NE(digest_with([](StoreEntry& e) { e.num_examples = 1; }), digest);
  EXPECT_EQ(digest_with([](StoreEntry&) {}), digest);
}

TEST(StoreIndex, AGlobalModelBelongsToNoClient) {
  const TempFolder folder;
  StoreIndex index(folder / "store.db", Mode::create);
  StoreEntry global = entry("fedavg", 0, 1);
  global.client.reset();
  index.insert(std::vector{entry("fedavg", 0, 1), global});
  EXPECT_EQ(index.list({}), (std::vector{global, entry("fedavg", 0, 1)}));
}

TEST(StoreIndex, SeveralModelsMayBelongToNobody) {
  const TempFolder folder;
  StoreIndex index(folder / "store.db", Mode::create);
  std::vector<StoreEntry> clusters(3, entry("ifca", 0, 1));
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    clusters[i].client.reset();
    clusters[i].model_file = "models/ifca-" + std::to_string(i) + ".safetensors";
  }
  index.insert(clusters);
  EXPECT_EQ(index.list({}), clusters);
}

TEST(StoreIndex, AnInsertIsAllOrNothing) {
  const TempFolder folder;
  StoreIndex index(folder / "store.db", Mode::create);
  StoreEntry bad = entry("a", 2, 1);
  bad.model_file = "../secret";
  EXPECT_TRUE(holds(error_of(ErrorCode::internal,
                             [&] {
                               index.insert(std::vector{entry("a", 1, 1), bad});
                             }),
                    "must stay inside the run's folder, got \"../secret\""));
  EXPECT_TRUE(index.list({}).empty());
  index.insert(std::vector{entry("a", 1, 1)});
  EXPECT_EQ(index.list({}).size(), 1U);
}

TEST(StoreIndex, ForgetsRoundsAfterACommit) {
  const TempFolder folder;
  StoreIndex index(folder / "store.db", Mode::create);
  index.insert(std::vector{entry("a", 1, 1), entry("a", 1, 2), entry("a", 1, 3), entry("b", 1, 3)});
  index.remove_after("a", 1);
  EXPECT_EQ(index.list({}), (std::vector{entry("a", 1, 1), entry("b", 1, 3)}));
}

TEST(StoreIndex, OpeningAgainKeepsTheEntries) {
  const TempFolder folder;
  StoreIndex(folder / "store.db", Mode::create).insert(std::vector{entry("a", 1, 1)});
  EXPECT_EQ(StoreIndex(folder / "store.db", Mode::create).list({}).size(), 1U);
}

TEST(StoreIndex, AReadOnlyIndexCannotBeMissingOrWritten) {
  const TempFolder folder;
  EXPECT_TRUE(holds(error_of(ErrorCode::io, [&] { StoreIndex(folder / "none.db", Mode::read_only); }), "none.db: "));
  EXPECT_FALSE(std::filesystem::exists(folder / "none.db"));
  const StoreIndex made(folder / "store.db", Mode::create);
  StoreIndex reader(folder / "store.db", Mode::read_only);
  (void)error_of(ErrorCode::io, [&] { reader.insert(std::vector{entry("a", 1, 1)}); });
}

TEST(StoreIndex, ForeignFilesAreRefused) {
  const TempFolder folder;
  write_file_atomically(folder / "text.db", std::string(4096, 'x'));
  for (const Mode mode : {Mode::create, Mode::read_only}) {
    EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data, [&] { StoreIndex(folder / "text.db", mode); }),
                      "text.db: file is not a database"));
  }
  EXPECT_EQ(read_text(folder / "text.db"), std::string(4096, 'x'));
}

TEST(StoreIndex, AnotherVersionIsRefused) {
  const TempFolder folder;
  StoreIndex(folder / "store.db", Mode::create).insert(std::vector{entry("a", 1, 1)});
  Bytes bytes = read_file(folder / "store.db");
  bytes[63] = std::byte{9};  // bytes 60..63 of an SQLite file hold user_version, big endian
  write_file_atomically(folder / "store.db", bytes);
  for (const Mode mode : {Mode::create, Mode::read_only}) {
    EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data, [&] { StoreIndex(folder / "store.db", mode); }),
                      "is not a model index of version 1, got version 9"));
  }
}

TEST(StoreIndex, AnEmptyFileIsNotYetAnIndex) {
  const TempFolder folder;
  write_file_atomically(folder / "store.db", std::string_view());
  (void)error_of(ErrorCode::invalid_data, [&] { StoreIndex(folder / "store.db", Mode::read_only); });
  EXPECT_TRUE(StoreIndex(folder / "store.db", Mode::create).list({}).empty());
}

TEST(StoreIndex, EveryTruncationPointOpensOrIsRefused) {
  const TempFolder folder;
  StoreIndex(folder / "store.db", Mode::create).insert(std::vector{entry("a", 1, 1)});
  const Bytes whole = read_file(folder / "store.db");
  for (std::size_t length = 1; length < whole.size(); length += 97) {
    const auto torn = folder.write("torn.db", std::span(whole).first(length));
    try {
      (void)StoreIndex(torn, Mode::read_only).list({});
      ADD_FAILURE() << "read " << length << " of " << whole.size() << " bytes";
    } catch (const Error& error) {
      EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(ErrorCode::invalid_data)) << error.what();
    }
  }
}

}  // namespace
}  // namespace feroma
