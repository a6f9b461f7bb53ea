#include "feroma/store/journal.h"

#include <gtest/gtest.h>

#include "feroma/core/files.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"

namespace feroma {
namespace {

using test::error_of;
using test::holds;
using test::TempFolder;

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<Bytes> three() { return {bytes_of("first"), bytes_of(""), bytes_of("the third record")}; }

Bytes journal_of_three(const std::filesystem::path& path) {
  Journal journal(path);
  for (const Bytes& record : three()) {
    journal.append(record);
  }
  return read_file(path);
}

TEST(Journal, KeepsWhatWasAppended) {
  const TempFolder folder;
  static_cast<void>(journal_of_three(folder / "j"));
  Journal again(folder / "j");
  EXPECT_EQ(again.take_records(), three());
  EXPECT_TRUE(again.take_records().empty())
      << "they are handed over once, not kept for as long as the federation lives";
  EXPECT_EQ(again.cut(), 0U);
  again.append(bytes_of("4"));
  EXPECT_EQ(examine_journal(folder / "j").records.size(), 4U);
}

TEST(Journal, IsHeldByOneProcess) {
  const TempFolder folder;
  const Journal journal(folder / "j");
  EXPECT_TRUE(holds(error_of(ErrorCode::io, [&] { Journal other(folder / "j"); }), "another process holds"));
}

// Whatever a crash leaves of the last record, those before it are there and the next one can be appended.
TEST(Journal, CutsAnUnfinishedEnd) {
  const TempFolder folder;
  const Bytes whole = journal_of_three(folder / "j");
  const std::size_t before = whole.size() - 24 - 16;  // the third record: its head and its text
  for (std::size_t length = before; length < whole.size(); ++length) {
    const auto torn = folder.write("torn", std::span(whole).first(length));
    {
      Journal journal(torn);
      EXPECT_EQ(journal.take_records().size(), 2U) << length;
      EXPECT_EQ(journal.cut(), length - before);
      EXPECT_EQ(std::filesystem::file_size(torn), length) << "who only opens it may still have been mistaken";
      journal.append(bytes_of("again"));
    }
    EXPECT_EQ(examine_journal(torn).records.back(), bytes_of("again"));
  }
  // The file system may have made room that was never filled.
  Bytes zeros(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(before));
  zeros.resize(whole.size());
  EXPECT_EQ(Journal(folder.write("zeros", zeros)).take_records().size(), 2U);
}

// A flipped bit is no torn write, wherever it is: the journal is refused, never quietly shortened.
TEST(Journal, RefusesEveryFlippedBit) {
  const TempFolder folder;
  const Bytes whole = journal_of_three(folder / "j");
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    Bytes flipped = whole;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto path = folder.write("flipped", flipped);
    const std::string error = error_of(ErrorCode::invalid_data, [&] { Journal journal(path); });
    EXPECT_TRUE(holds(error, bit / 8 < 8 ? "is not a journal" : "is damaged")) << bit << " " << error;
    EXPECT_EQ(read_file(path), flipped);
  }
}

TEST(Journal, RefusesWhatIsAppendedToIt) {
  const TempFolder folder;
  const Bytes whole = journal_of_three(folder / "j");
  for (const std::string_view garbage : {"x", "a line\n", "more than the head of a record has bytes"}) {
    Bytes longer = whole;
    const Bytes more = bytes_of(garbage);
    longer.insert(longer.end(), more.begin(), more.end());
    const JournalContent content = examine_journal(folder.write("longer", longer));
    EXPECT_EQ(content.records.size(), 3U);
    EXPECT_EQ(content.whole, whole.size());
    EXPECT_TRUE(holds(content.damage, "are no record 4")) << content.damage;
  }
}

// What never reached the disk begins at the end of a page, so zeros in the middle of one were written or are damage.
TEST(Journal, TellsAnUnfilledPageFromAWrongContent) {
  const TempFolder folder;
  {
    Journal journal(folder / "j");
    journal.append(bytes_of("first"));
    journal.append(Bytes(10000, std::byte{7}));
  }
  const Bytes whole = read_file(folder / "j");
  const auto zeroed_from = [&](std::size_t at) {
    Bytes bytes = whole;
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end(), std::byte{0});
    return examine_journal(folder.write("zeroed", bytes));
  };
  EXPECT_TRUE(zeroed_from(8192).damage.empty());
  EXPECT_EQ(zeroed_from(8192).records.size(), 1U);
  EXPECT_TRUE(holds(zeroed_from(whole.size() - 2).damage, "the content of record 2 at byte 37"));
}

TEST(Journal, RecordsCannotChangePlaces) {
  const TempFolder folder;
  Bytes swapped = journal_of_three(folder / "j");
  // The first two records have heads of 24 bytes and 5 and 0 bytes of text.
  std::rotate(swapped.begin() + 8, swapped.begin() + 8 + 29, swapped.begin() + 8 + 29 + 24);
  const auto path = folder.write("swapped", swapped);
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data, [&] { Journal journal(path); }), "is damaged"));
}

}  // namespace
}  // namespace feroma
