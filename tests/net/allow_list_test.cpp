// The list of clients as a server sees it while others write it.
#include "net/allow_list.h"

#include <gtest/gtest.h>

#include "feroma/core/files.h"
#include "tests/clocks.h"
#include "tests/core/temp_folder.h"
#include "tests/expect_error.h"

namespace feroma::net::test {
namespace {

namespace fs = std::filesystem;

class Allowed : public ::testing::Test {
 protected:
  /// One client of this name.
  void write(const std::string& name) const {
    write_file_atomically(path, "0 " + name + " " + std::string(64, 'a') + "\n");
  }
  std::string name() { return list.read()->entries().front().name; }

  feroma::test::TempFolder folder;
  fs::path path = folder / "clients.list";
  feroma::test::FakeClock clock;
  AllowList list{path, clock};
};

TEST_F(Allowed, AChangeIsSeenThoughSizeAndTimeAreTheSame) {
  write("ward-1");
  EXPECT_EQ(name(), "ward-1");
  const fs::file_time_type when = fs::last_write_time(path);
  write("ward-2");
  fs::last_write_time(path, when);
  EXPECT_EQ(name(), "ward-2");
}

TEST_F(Allowed, ADamagedListIsNotObeyed) {
  for (const std::string_view damaged : {"half\n", "", "# nobody\n"}) {
    write("ward-1");
    EXPECT_EQ(name(), "ward-1");
    EXPECT_EQ(list.damage(), "");
    const std::shared_ptr<const ClientList> good = list.read();
    write_file_atomically(path, damaged);
    EXPECT_EQ(name(), "ward-1") << "the last good list stays in force";
    EXPECT_EQ(list.read()->entries().size(), good->entries().size());
    EXPECT_NE(list.damage().find("clients.list"), std::string::npos) << list.damage();
    write("ward-2");
    EXPECT_EQ(name(), "ward-2");
    EXPECT_EQ(list.damage(), "");
  }
}

TEST_F(Allowed, TheFirstListMustBeGood) {
  write_file_atomically(path, std::string_view(""));
  expect_error(ErrorCode::invalid_data, "clients.list: names no client, so it was emptied or cut",
               [&] { return name(); });
}

TEST_F(Allowed, NobodyIsGivenAListThatCannotBeRead) {
  write("ward-1");
  static_cast<void>(list.read());
  fs::remove(path);
  expect_error(ErrorCode::io, "clients.list: cannot look at this list", [&] { return name(); });
  write("ward-2");
  EXPECT_EQ(name(), "ward-2");
}

// Two seconds after it was looked at no change can hide behind a coarse clock any more.
TEST_F(Allowed, AListThatDoesNotChangeIsReadOnce) {
  write("ward-1");
  const std::shared_ptr<const ClientList> early = list.read();
  clock.advance(2);
  const std::shared_ptr<const ClientList> late = list.read();
  EXPECT_NE(late, early);
  clock.advance(1);
  const std::shared_ptr<const ClientList> settled = list.read();
  EXPECT_NE(settled, late);
  EXPECT_EQ(list.read(), settled);
  fs::permissions(path, fs::perms::owner_all);
  EXPECT_NE(list.read(), settled) << "whoever may read it changes what is known of it";
}

}  // namespace
}  // namespace feroma::net::test
