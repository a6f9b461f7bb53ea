#include "feroma/runtime/visitor_ledger.h"

#include <gtest/gtest.h>

#include "feroma/core/files.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

class VisitorVersion : public ::testing::Test {
 protected:
  void write(const std::string& name, std::string_view text) const {
    fs::create_directories((folder / name).parent_path());
    write_file_atomically(folder / name, text);
  }

  test::TempFolder folder;
};

TEST_F(VisitorVersion, IsTheSameByWhateverPath) {
  write("ward/visits.csv", "age\n50\n");
  const std::int64_t version = visitor_version(folder / "ward");
  EXPECT_GE(version, 0);
  EXPECT_EQ(visitor_version(folder / "ward"), version);
  EXPECT_EQ(visitor_version(folder / "ward/"), version);
  EXPECT_EQ(visitor_version(folder / "ward/../ward"), version);
  EXPECT_EQ(visitor_version(fs::relative(folder / "ward")), version);
  fs::create_directory_symlink(folder / "ward", folder / "link");
  EXPECT_EQ(visitor_version(folder / "link"), version);
  EXPECT_EQ(visitor_state(folder / "link"), visitor_state(folder / "ward/"));
}

TEST_F(VisitorVersion, ChangesWithTheFilesAndComesBackWithThem) {
  write("ward/visits.csv", "age\n50\n");
  const std::int64_t first = visitor_version(folder / "ward");
  write("ward/more.csv", "age\n60\n");
  EXPECT_NE(visitor_version(folder / "ward"), first);
  fs::remove(folder / "ward/more.csv");
  EXPECT_EQ(visitor_version(folder / "ward"), first);
  write("ward/visits.csv", "age\n50\n51\n");
  EXPECT_NE(visitor_version(folder / "ward"), first);
}

TEST_F(VisitorVersion, OfTwoFoldersThatLookAlikeDiffers) {
  write("a/visits.csv", "age\n50\n");
  write("b/visits.csv", "age\n60\n");
  fs::last_write_time(folder / "b/visits.csv", fs::last_write_time(folder / "a/visits.csv"));
  EXPECT_NE(visitor_version(folder / "a"), visitor_version(folder / "b"));
}

TEST_F(VisitorVersion, NeedsAFolder) {
  const std::string error =
      test::error_of(ErrorCode::io, [&] { static_cast<void>(visitor_version(folder / "nowhere")); });
  EXPECT_TRUE(test::holds(error, "nowhere: cannot be found"));
}

TEST_F(VisitorVersion, HasItsLedgerBesideTheData) {
  write("ward/visits.csv", "age\n50\n");
  EXPECT_EQ(visitor_state(folder / "ward"), fs::canonical(folder.path()) / "ward-visitor");
}

}  // namespace
}  // namespace feroma
