// How many connections a door lets in, and what becomes of those beyond.
#include <sys/resource.h>

#include <filesystem>

#include "tests/core/expect_error.h"
#include "tests/net/door_fixture.h"

namespace feroma::net::test {
namespace {

using feroma::test::error_of;
using feroma::test::holds;

TEST_F(Door, StrangersOfOneAddressAreFew) {
  open();
  RawConnection first(port());
  RawConnection second(port());
  ASSERT_TRUE(eventually([&] { return door->counts().strangers == 2; }));
  RawConnection third(port());
  third.until_closed();
  EXPECT_TRUE(eventually([&] { return refused("address_limit") == 1; }));
  RawConnection elsewhere(port(), "127.0.0.2");
  EXPECT_TRUE(eventually([&] { return door->counts().strangers == 3; }));
  first.close();
  ASSERT_TRUE(eventually([&] { return door->counts().strangers == 2; }));
  RawConnection fourth(port());
  EXPECT_TRUE(fourth.say(modern()));
  EXPECT_TRUE(eventually([&] { return let_in() == 1; })) << "there is room again";
  door->authenticated(fourth.name());
  const RawConnection fifth(port());
  EXPECT_TRUE(eventually([&] { return door->counts().strangers == 3; })) << "who is known does not count";
}

TEST_F(Door, StrangersInAllAreLimited) {
  limits.strangers = 4;
  limits.strangers_per_address = 100;
  open();
  std::vector<RawConnection> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back(port());
  }
  ASSERT_TRUE(eventually([&] { return door->counts().strangers == 4; }));
  RawConnection more(port(), "127.0.0.2");
  more.until_closed();
  EXPECT_TRUE(eventually([&] { return lines_with("127.0.0.2:") == 1; }));
  EXPECT_EQ(refused("stranger_limit"), 1U);
}

TEST_F(Door, ConnectionsInAllAreLimited) {
  limits.connections = 3;
  open(/*tls=*/false);
  std::vector<RawConnection> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(port());
    ASSERT_TRUE(eventually([&] { return let_in() == clients.size(); }));
    door->authenticated(clients.back().name());
  }
  EXPECT_EQ(door->counts().strangers, 0U);
  RawConnection more(port());
  more.until_closed();
  EXPECT_TRUE(eventually([&] { return refused("connection_limit") == 1; }));
}

// Whoever has one key could otherwise take every place that there is.
TEST_F(Door, ConnectionsOfOneCertificateAreFew) {
  limits.strangers_per_address = 100;
  limits.per_certificate = 3;
  open(/*tls=*/false);
  std::vector<RawConnection> clients;
  const auto comes = [&](const std::string& certificate) {
    const std::size_t before = let_in();
    clients.emplace_back(port());
    EXPECT_TRUE(eventually([&] { return let_in() == before + 1; }));
    return door->authenticated(clients.back().name(), certificate);
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(comes("a"));
  }
  EXPECT_TRUE(door->authenticated(clients.back().name(), "a")) << "another stream of a connection that is inside";
  EXPECT_FALSE(comes("a"));
  EXPECT_EQ(door->counts().strangers, 1U) << "it has no more time than a stranger";
  EXPECT_TRUE(comes("b")) << "others are not touched";
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(comes("")) << "without certificates nobody is the same";
  }
  end_all();
  clients.clear();
  ASSERT_TRUE(eventually([&] { return door->counts().open == 0; }));
  EXPECT_TRUE(comes("a")) << "there is room again";
}

TEST_F(Door, LimitsMustBeAboveZero) {
  limits.strangers = 0;
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_config, [&] { open(); }), "limits on connections"));
}

// ---- floods ----

TEST_F(Door, FloodsLeaveNothingBehind) {
  open();
  // One that is let in first, so that everything that is made once has been made.
  { RawConnection(port()).say(modern()); }
  ASSERT_TRUE(eventually([&] { return let_in() == 1; }));
  end_all();
  ASSERT_TRUE(eventually([&] { return door->counts().open == 0; }));
  const std::size_t before = open_descriptors();
  std::size_t most = 0;
  for (int i = 0; i < 10'000; ++i) {
    RawConnection client(port(), i % 2 == 0 ? "127.0.0.1" : "127.0.0.3");
    if (i % 10 == 0) {
      static_cast<void>(client.say(modern()));  // may be turned away before it is said
    }
    if (i % 100 == 0) {
      most = std::max(most, open_descriptors());
    }
  }
  EXPECT_TRUE(eventually([&] {
    end_all();
    return door->counts().open == 0;
  }));
  const DoorCounts counts = door->counts();
  std::uint64_t all = counts.accepted - counts.refused.at("left");
  for (const auto& [reason, count] : counts.refused) {
    all += count;
  }
  EXPECT_GE(all, 10'000U) << "every connection is counted";
  EXPECT_LE(open_descriptors(), before);
  EXPECT_LT(most, before + 3U * 64U);
  EXPECT_EQ(counts.strangers, 0U);
  EXPECT_LT(lines_with(""), 200U) << "a flood must not fill the log";
}

// All at once, and none of them leaves.
TEST_F(Door, FloodsThatStayAreBounded) {
  limits.strangers_per_address = 32;
  open();
  const std::size_t before = open_descriptors();
  std::vector<RawConnection> flood;
  for (int i = 0; i < 500; ++i) {
    flood.emplace_back(port());
  }
  ASSERT_TRUE(eventually([&] { return refused("address_limit") == 500 - 32; }));
  EXPECT_EQ(door->counts().strangers, 32U);
  EXPECT_EQ(open_descriptors(), before + 500 + 32) << "theirs, and those of ours that are inside";
  RawConnection other(port(), "127.0.0.2");
  EXPECT_TRUE(other.say(modern()));
  EXPECT_TRUE(eventually([&] { return let_in() == 1; })) << "those of other addresses get in";
  flood.clear();
  other.close();
  end_all();
  EXPECT_TRUE(eventually([&] { return door->counts().open == 0; }));
  EXPECT_LE(open_descriptors(), before);
}

TEST_F(Door, SurvivesWithoutDescriptors) {
  open(/*tls=*/false);
  RawConnection client(port());
  ASSERT_TRUE(eventually([&] { return let_in() == 1; }));
  door->authenticated(client.name());  // it stays, and does not leave its descriptors to others
  const Descriptor second(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit lower{std::min<rlim_t>(limit.rlim_cur, 4096), limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
  std::vector<Descriptor> all;
  do {
    all.emplace_back(::dup(client.get()));
  } while (all.back());
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(second.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_TRUE(eventually([&] { return refused("descriptors") == 1; }));
  all.clear();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  const RawConnection third(port());
  EXPECT_TRUE(eventually([&] { return let_in() == 2; })) << "it goes on afterwards";
}

}  // namespace
}  // namespace feroma::net::test
