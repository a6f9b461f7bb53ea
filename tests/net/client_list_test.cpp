#include "feroma/net/client_list.h"

#include <gtest/gtest.h>

#include "feroma/core/files.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

using feroma::test::error_of;
using feroma::test::holds;
using feroma::test::TempFolder;

const std::string kA(64, 'a');
const std::string kB(64, 'b');
const std::string kC(64, 'c');

class ClientListTest : public ::testing::Test {
 protected:
  [[nodiscard]] ClientList parsed(const std::string& text) const {
    write_file_atomically(path_, text);
    return read_client_list(path_);
  }
  [[nodiscard]] std::string refused(const std::string& text) const {
    return error_of(ErrorCode::invalid_data, [&] { static_cast<void>(parsed(text)); });
  }
  void write_quickly(const std::string& text) const { folder_.write("clients.list", std::as_bytes(std::span(text))); }
  TempFolder folder_;
  fs::path path_ = folder_ / "clients.list";
};

TEST_F(ClientListTest, HasCommentsBlanksAndAnyLineEnd) {
  const ClientList list =
      parsed(fmt::format("# all\r\n\n \t\n7 a {} # the first\n\t0  b\t{}   revoked#gone\r\n 3 c {}", kA, kB, kC));
  ASSERT_EQ(list.entries().size(), 3U);
  EXPECT_EQ(list.find(kA)->id, ClientId{7});
  EXPECT_FALSE(list.find(kA)->revoked);
  EXPECT_TRUE(list.find(kB)->revoked);
  EXPECT_EQ(list.find_id(ClientId{3})->name, "c");
  EXPECT_EQ(list.free_id(), ClientId{1});
  EXPECT_TRUE(parsed("").entries().empty());
  EXPECT_EQ(parsed("# nobody").free_id(), ClientId{0});
}

TEST_F(ClientListTest, RefusesBadLines) {
  const std::string good = fmt::format("0 a {}\n", kA);
  EXPECT_TRUE(holds(refused(good + "\n1 b\n"), fmt::format("{}:3: a line must be ID NAME", path_.string())));
  EXPECT_TRUE(holds(refused("x"), "got 1 words"));
  EXPECT_TRUE(holds(refused(fmt::format("1 b {} revoked again", kB)), ":1: a line must be"));
  for (const char* id : {"-1", "+1", "x", "1x", "0x1", "1.0", "4294967296"}) {
    EXPECT_TRUE(holds(refused(good + fmt::format("{} b {}", id, kB)),
                      fmt::format(":2: an id must be a whole number from 0 to 4294967295, got {}", id)));
  }
  EXPECT_TRUE(holds(refused(good + fmt::format("1 ../b {}", kB)), ":2: a name must be"));
  EXPECT_TRUE(holds(refused(good + fmt::format("1 ../b {}", kB)), "got ../b"));
  for (const std::string& hex : {std::string(64, 'A'), std::string(64, 'g'), std::string(63, 'a'), std::string(65, 'a'),
                                 std::string("aa:") + std::string(61, 'a')}) {
    EXPECT_TRUE(holds(refused(good + fmt::format("1 b {}", hex)),
                      fmt::format(":2: a fingerprint must be 64 lower-case hex digits, got {}", hex)));
  }
  EXPECT_TRUE(holds(refused(good + fmt::format("1 b {} Revoked", kB)), ":2: the only word after"));
  EXPECT_TRUE(holds(refused(good + fmt::format("1 b {} Revoked", kB)), "got Revoked"));
}

TEST_F(ClientListTest, RefusesWhatIsThereTwice) {
  const std::string good = fmt::format("0 a {}\n", kA);
  EXPECT_TRUE(holds(refused(good + fmt::format("00 b {}", kB)), ":2: every client must have its own id, but 0"));
  EXPECT_TRUE(
      holds(refused(good + fmt::format("1 a {} revoked", kB)), ":2: every client must have its own name, but a"));
  EXPECT_TRUE(holds(refused(good + fmt::format("1 b {}", kA)), ":2: every client must have its own certificate, but"));
}

TEST_F(ClientListTest, KeepsCommentsWhenItIsEdited) {
  write_file_atomically(path_, fmt::format("# ours\n0 a {}  # ward 3\r\n1 b {}", kA, kB));
  add_to_client_list(path_, {ClientId{2}, "c", kC});
  revoke_in_client_list(path_, "a");
  const std::string text = read_text(path_);
  EXPECT_TRUE(text.starts_with("# feroma-clients 2: 3 entries, SHA-256 of what follows ")) << text;
  EXPECT_EQ(text.substr(text.find('\n') + 1),
            fmt::format("# ours\n0 a {} revoked  # ward 3\r\n1 b {}\n2 c {}\n", kA, kB, kC));
  const std::string renewed(64, 'e');
  EXPECT_EQ(renew_in_client_list(path_, "b", renewed).id, ClientId{1});
  EXPECT_TRUE(
      read_text(path_).ends_with(fmt::format("# ours\n0 a {} revoked  # ward 3\r\n1 b {}\n2 c {}\n", kA, renewed, kC)));
  error_of(ErrorCode::invalid_config, [&] { renew_in_client_list(path_, "nobody", kB); });
  // Nothing is written that could not be read again.
  error_of(ErrorCode::invalid_data, [&] { add_to_client_list(path_, {ClientId{2}, "d", std::string(64, 'd')}); });
  EXPECT_EQ(read_client_list(path_).entries().size(), 3U);
}

TEST_F(ClientListTest, ACutOrFlippedListIsRefused) {
  add_to_client_list(path_, {ClientId{0}, "a", kA});
  add_to_client_list(path_, {ClientId{1}, "b", kB});
  const std::string whole = read_text(path_);
  EXPECT_EQ(read_valid_client_list(path_).entries().size(), 2U);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write_quickly(whole.substr(0, length));
    const std::string error =
        error_of(ErrorCode::invalid_data, [&] { static_cast<void>(read_valid_client_list(path_)); });
    EXPECT_TRUE(holds(error, "clients.list:")) << length << ": " << error;
  }
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    write_quickly(flipped);
    try {
      const ClientList list = read_valid_client_list(path_);
      EXPECT_TRUE(list.entries().size() == 2 && list.find(kA) && list.find(kB)) << "the first line is a comment now";
    } catch (const Error& error) {
      EXPECT_TRUE(holds(error.what(), "clients.list")) << error.what();
    }
  }
}

TEST_F(ClientListTest, WhoEditsAListTakesItsFirstLineOut) {
  add_to_client_list(path_, {ClientId{0}, "a", kA});
  const std::string whole = read_text(path_);
  EXPECT_TRUE(holds(refused(whole + fmt::format("1 b {}\n", kB)), "or take that line out if the rest is right"));
  EXPECT_EQ(parsed(whole.substr(whole.find('\n') + 1) + fmt::format("1 b {}\n", kB)).entries().size(), 2U);
}

TEST_F(ClientListTest, MustBeThere) {
  error_of(ErrorCode::io, [&] { static_cast<void>(read_client_list(folder_ / "nothing")); });
}

}  // namespace
}  // namespace feroma
