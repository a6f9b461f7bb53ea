#include "feroma/store/checkpoint.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "feroma/core/files.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"

namespace feroma {
namespace {

using test::error_of;
using test::holds;
using test::TempFolder;

const Bytes kPayload{std::byte{1}, std::byte{2}, std::byte{0}, std::byte{255}, std::byte{7}};

std::string refusal(const std::filesystem::path& path) {
  return error_of(ErrorCode::invalid_data, [&] { (void)read_checkpoint(path); });
}

TEST(Checkpoint, ReadsBackWhatWasCommitted) {
  const TempFolder folder;
  const auto path = checkpoint_path(folder.path(), "feroma-auto");
  EXPECT_EQ(path, folder / "checkpoint/feroma-auto.ckpt");
  EXPECT_FALSE(has_checkpoint(path));
  write_checkpoint(path, kPayload);
  EXPECT_TRUE(has_checkpoint(path));
  EXPECT_EQ(read_checkpoint(path), kPayload);
  write_checkpoint(path, Bytes{});
  EXPECT_EQ(read_checkpoint(path), Bytes{});
}

TEST(Checkpoint, HasAFixedFormat) {
  const TempFolder folder;
  write_checkpoint(folder / "a.ckpt", kPayload);
  // Magic, version 1, CRC-32 of the payload (crc32 of zlib in any other program), length, payload.
  std::string expected("FEROMACK\x01\x00\x00\x00", 12);
  expected += std::string("\xf7\x7e\x0b\x5c", 4);
  expected += std::string("\x05\x00\x00\x00\x00\x00\x00\x00\x01\x02\x00\xff\x07", 13);
  EXPECT_EQ(read_text(folder / "a.ckpt"), expected);
}

TEST(Checkpoint, EveryTruncationPointIsRefused) {
  const TempFolder folder;
  write_checkpoint(folder / "a.ckpt", kPayload);
  const Bytes whole = read_file(folder / "a.ckpt");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto torn = folder.write("torn.ckpt", std::span(whole).first(length));
    EXPECT_TRUE(holds(refusal(torn), length < 24 ? "is cut off" : "is damaged")) << length;
  }
}

TEST(Checkpoint, EveryFlippedBitIsRefused) {
  const TempFolder folder;
  write_checkpoint(folder / "a.ckpt", kPayload);
  const Bytes whole = read_file(folder / "a.ckpt");
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    Bytes flipped = whole;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    (void)refusal(folder.write("flipped.ckpt", flipped));
  }
}

TEST(Checkpoint, TrailingBytesAreRefused) {
  const TempFolder folder;
  write_checkpoint(folder / "a.ckpt", kPayload);
  Bytes longer = read_file(folder / "a.ckpt");
  longer.push_back(std::byte{0});
  write_file_atomically(folder / "a.ckpt", longer);
  EXPECT_TRUE(holds(refusal(folder / "a.ckpt"), "should hold 5 bytes of state, it has 6"));
}

TEST(Checkpoint, ForeignAndNewerFilesSayWhatTheyAre) {
  const TempFolder folder;
  write_file_atomically(folder / "a.ckpt", std::string_view("PK\x03\x04 something that is no checkpoint"));
  EXPECT_TRUE(holds(refusal(folder / "a.ckpt"), "a.ckpt: is not a checkpoint"));
  write_checkpoint(folder / "b.ckpt", kPayload);
  Bytes newer = read_file(folder / "b.ckpt");
  newer[8] = std::byte{2};
  write_file_atomically(folder / "b.ckpt", newer);
  EXPECT_TRUE(holds(refusal(folder / "b.ckpt"), "version must be 1, got 2"));
}

TEST(Checkpoint, AMissingFileIsAnIoError) {
  EXPECT_TRUE(holds(error_of(ErrorCode::io, [] { (void)read_checkpoint("/nowhere/a.ckpt"); }), "/nowhere/a.ckpt"));
}

TEST(Checkpoint, LabelsCannotLeaveTheFolder) {
  for (const std::string_view label : {"", "../x", "a/b", ".hidden"}) {
    (void)error_of(ErrorCode::invalid_config, [&] { (void)checkpoint_path("run", label); });
  }
}

TEST(Checkpoint, AFailedCommitLeavesNothingBehind) {
  const TempFolder folder;
  // A folder in the way of the new name makes the last step, the rename, fail.
  std::filesystem::create_directories(folder / "a.ckpt/full");
  EXPECT_TRUE(holds(error_of(ErrorCode::io, [&] { write_checkpoint(folder / "a.ckpt", kPayload); }), "cannot replace"));
  const std::filesystem::directory_iterator entries(folder.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

RC_GTEST_PROP(Checkpoint, RoundTripsAnyPayload, (const std::vector<unsigned char>& values)) {
  const TempFolder folder;
  Bytes payload(values.size());
  std::transform(values.begin(), values.end(), payload.begin(), [](unsigned char c) { return std::byte{c}; });
  write_checkpoint(folder / "a.ckpt", payload);
  RC_ASSERT(read_checkpoint(folder / "a.ckpt") == payload);
}

}  // namespace
}  // namespace feroma
