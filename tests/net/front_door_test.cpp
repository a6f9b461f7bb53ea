#include "net/front_door.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>

#include <filesystem>

#include "tests/clocks.h"
#include "tests/core/expect_error.h"
#include "tests/net/door_fixture.h"

namespace feroma::net::test {
namespace {

using feroma::test::error_of;
using feroma::test::holds;

// ---- what is let in ----

TEST_F(Door, HandsOverWhoOffersTls13) {
  open();
  RawConnection client(port());
  EXPECT_TRUE(client.say(modern()));
  ASSERT_TRUE(eventually([&] { return let_in() == 1; }));
  // All of the hello is still there.
  HelloBytes said(modern().size() + 1);
  ASSERT_EQ(::recv(inside.front().get(), said.data(), said.size(), 0), static_cast<ssize_t>(modern().size()));
  said.pop_back();
  EXPECT_TRUE(said == modern());
  const DoorCounts counts = door->counts();
  EXPECT_EQ(counts.accepted, 1U);
  EXPECT_EQ(counts.open, 1U);
  EXPECT_EQ(counts.strangers, 1U);
}

TEST_F(Door, HelloMayComeByteByByte) {
  open();
  RawConnection client(port());
  for (const std::byte& byte : modern()) {
    ASSERT_EQ(let_in(), 0U);
    ASSERT_TRUE(client.say(std::span(&byte, 1)));
    if (&byte - modern().data() < 20) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // so that the door sees some of them alone
    }
  }
  EXPECT_TRUE(eventually([&] { return let_in() == 1; }));
}

TEST_F(Door, PlainTextIsNotLookedAt) {
  open(/*tls=*/false);
  const RawConnection client(port());  // says nothing
  EXPECT_TRUE(eventually([&] { return let_in() == 1; }));
}

TEST_F(Door, ConnectionsDoNotWaitBeforeTheySend) {
  open(/*tls=*/false);
  const RawConnection client(port());
  ASSERT_TRUE(eventually([&] { return let_in() == 1; }));
  int on = 0;
  socklen_t size = sizeof(on);
  ASSERT_EQ(::getsockopt(inside.front().get(), IPPROTO_TCP, TCP_NODELAY, &on, &size), 0);
  EXPECT_EQ(on, 1);
  EXPECT_NE(::fcntl(inside.front().get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(::fcntl(inside.front().get(), F_GETFL) & O_NONBLOCK, 0);
}

// ---- what is turned away ----

TEST_F(Door, OlderVersionsAreToldSo) {
  feroma::test::FakeClock clock;
  limits.clock = &clock;
  open();
  const std::string alert("\x15\x03\x01\x00\x02\x02\x46", 7);
  EXPECT_EQ(turned_away(hello_of(TLS1_2_VERSION, TLS1_2_VERSION), "older_tls"), alert);
  EXPECT_EQ(turned_away(hello_of(TLS1_1_VERSION, TLS1_1_VERSION), "older_tls"), alert);
  EXPECT_EQ(turned_away(hello_of(TLS1_VERSION, TLS1_VERSION), "older_tls"), alert);
  EXPECT_EQ(lines_with("it does not offer TLS 1.3"), 1U) << "one line a second";
  clock.advance(1);
  const RawConnection next(port());  // the door looks at the time when something happens
  EXPECT_TRUE(eventually([&] { return lines_with("2 more refused: it does not offer TLS 1.3") == 1; }));
  door.reset();  // before its clock
}

TEST_F(Door, OpenSslUnderstandsTheAlert) {
  open();
  for (const int version : {TLS1_1_VERSION, TLS1_2_VERSION}) {
    RawConnection client(port());
    const OwnedTls<SSL_CTX> context = tls_client_context(version, version);
    const OwnedTls<SSL> tls(SSL_new(context.get()));
    SSL_set_fd(tls.get(), client.get());
    EXPECT_LE(SSL_connect(tls.get()), 0);
    EXPECT_EQ(ERR_GET_REASON(ERR_peek_error()), SSL_R_TLSV1_ALERT_PROTOCOL_VERSION);
    ERR_clear_error();
  }
}

TEST_F(Door, WhatIsNotTlsIsTurnedAway) {
  open();
  turned_away("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "not_tls");
  turned_away("GET / HTTP/1.1\r\n\r\n", "not_tls");
  turned_away(std::string(1000, '\0'), "not_tls");
  turned_away(std::string_view("\x80\x2e\x01\x00\x02\x00\x15", 7), "older_tls");
  HelloBytes broken = modern();
  broken[5 + 4 + 2 + 32] = std::byte{0xff};  // the length of the session's name
  turned_away(broken, "malformed_hello");
  EXPECT_TRUE(eventually([&] { return lines_with("refused: its TLS hello cannot be read") == 1; }));
  EXPECT_EQ(lines_with("refused: it does not speak TLS"), 1U);
}

TEST_F(Door, HelloThatIsCutShortIsTurnedAway) {
  open();
  RawConnection client(port());
  EXPECT_TRUE(client.say(std::span(modern()).first(100)));
  ::shutdown(client.get(), SHUT_WR);
  client.until_closed();
  EXPECT_TRUE(eventually([&] { return refused("gone") == 1; }));
  RawConnection silent(port());
  silent.close();
  EXPECT_TRUE(eventually([&] { return refused("gone") == 2; }));
  EXPECT_EQ(let_in(), 0U);
}

// ---- time ----

TEST_F(Door, DripsAndSilenceHaveTheirTime) {
  limits.stranger_seconds = 0.1;
  open();
  RawConnection silent(port());
  RawConnection drip(port());
  const auto begin = std::chrono::steady_clock::now();
  for (const std::byte& byte : modern()) {
    if (!drip.say(std::span(&byte, 1))) {
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5)) << "it would take longer than that";
  silent.until_closed();
  EXPECT_TRUE(eventually([&] { return refused("too_slow") == 2; }));
  EXPECT_EQ(let_in(), 0U);
  EXPECT_EQ(door->counts().open, 0U);
}

TEST_F(Door, WhoDoesNotShowWhoItIsMustGo) {
  limits.stranger_seconds = 0.3;
  open(/*tls=*/false);
  RawConnection known(port());
  RawConnection stranger(port());
  ASSERT_TRUE(eventually([&] { return let_in() == 2; }));
  door->authenticated(known.name());
  EXPECT_EQ(door->counts().strangers, 1U);
  stranger.until_closed();
  EXPECT_TRUE(eventually([&] { return door->counts().open == 1; }));
  EXPECT_EQ(refused("too_slow"), 1U);
  EXPECT_EQ(refused("left"), 0U);
  EXPECT_TRUE(known.is_quiet()) << "its time would have been over before";
  end_all();
  EXPECT_TRUE(eventually([&] { return door->counts().open == 0; }));
  EXPECT_EQ(refused("left"), 0U) << "it had shown who it is";
}

TEST_F(Door, WhoWasTurnedAwayIsNotWrittenOfTwice) {
  limits.stranger_seconds = 0.3;
  open(/*tls=*/false);
  RawConnection client(port());
  ASSERT_TRUE(eventually([&] { return let_in() == 1; }));
  door->turned_away(client.name());
  client.until_closed();
  EXPECT_TRUE(eventually([&] { return door->counts().open == 0; }));
  EXPECT_EQ(lines_with(""), 0U);
}

TEST_F(Door, StrangersThatLeaveAreWrittenOf) {
  open(/*tls=*/false);
  RawConnection client(port());
  ASSERT_TRUE(eventually([&] { return let_in() == 1; }));
  end_all();  // as after a handshake that failed
  EXPECT_TRUE(eventually([&] { return refused("left") == 1; }));
  EXPECT_EQ(door->counts().strangers, 0U);
  EXPECT_TRUE(eventually([&] { return lines_with("its certificate was refused") == 1; }));
}

// ---- addresses ----

TEST_F(Door, ListensWhereItIsTold) {
  open(/*tls=*/false, "127.0.0.1:0");
  EXPECT_GT(port(), 0);
  const RawConnection client(port());
  EXPECT_TRUE(eventually([&] { return let_in() == 1; }));
  const std::string taken = fmt::format("127.0.0.1:{}", port());
  EXPECT_TRUE(holds(error_of(ErrorCode::io, [&] { FrontDoor(taken, limits, false); }), "cannot listen at " + taken));
  for (const char* bad : {"127.0.0.1", "127.0.0.1:", "127.0.0.1:port", ":7443", "::1:7443", "127.0.0.1:70000", ""}) {
    SCOPED_TRACE(bad);
    EXPECT_TRUE(holds(error_of(ErrorCode::invalid_config, [&] { FrontDoor(bad, limits, false); }), "an address must"));
  }
}

TEST_F(Door, ListensAtAName) {
  addrinfo* found = nullptr;
  if (::getaddrinfo("localhost", nullptr, nullptr, &found) != 0) {
    GTEST_SKIP() << "this machine does not know localhost: addresses with names are NOT tested";
  }
  ::freeaddrinfo(found);
  open(/*tls=*/false, "localhost:0");
  const RawConnection client(port());
  EXPECT_TRUE(eventually([&] { return let_in() == 1; }));
}

int connect_by_ipv6(int port) {
  const int socket = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(static_cast<std::uint16_t>(port));
  address.sin6_addr = IN6ADDR_LOOPBACK_INIT;
  EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return socket;
}

TEST_F(Door, SpeaksIpv6) {
  if (!std::filesystem::exists("/proc/net/if_inet6")) {
    GTEST_SKIP() << "this machine has no IPv6: addresses like [::1]:7443 are NOT tested";
  }
  open(/*tls=*/false, "[::1]:0");
  const Descriptor six(connect_by_ipv6(port()));
  EXPECT_TRUE(eventually([&] { return let_in() == 1; }));
  end_all();
  open(/*tls=*/false, "[::]:0");
  const Descriptor again(connect_by_ipv6(port()));
  EXPECT_TRUE(eventually([&] { return let_in() == 1; }));
  RawConnection four(port());
  EXPECT_TRUE(eventually([&] { return let_in() == 2; })) << "every address is those of IPv4, too";
  door->authenticated(four.name());
  EXPECT_EQ(door->counts().strangers, 1U) << "which keep their names";
}

TEST(PeerAddress, IsReadAsGrpcWritesIt) {
  const auto four = parse_peer("ipv4:127.0.0.1:43210");
  ASSERT_TRUE(four.has_value());
  EXPECT_EQ(text_of(*four), "127.0.0.1:43210");
  const auto six = parse_peer("ipv6:%5B2001:db8::1%5D:43210");
  ASSERT_TRUE(six.has_value());
  EXPECT_EQ(text_of(*six), "[2001:db8::1]:43210");
  EXPECT_EQ(six, parse_peer("ipv6:[2001:db8::1]:43210"));
  EXPECT_EQ(network_of(*six), network_of(*parse_peer("ipv6:[2001:db8::2]:1")));
  EXPECT_NE(network_of(*six), network_of(*parse_peer("ipv6:[2001:db8:0:1::1]:43210")));
  EXPECT_NE(network_of(*four), network_of(*parse_peer("ipv4:127.0.0.2:43210")));
  EXPECT_EQ(parse_peer("ipv4:127.0.0.1"), std::nullopt);
  EXPECT_EQ(parse_peer("ipv4:127.0.0.1:x"), std::nullopt);
  EXPECT_EQ(parse_peer("unix:/somewhere"), std::nullopt);
  EXPECT_EQ(parse_peer("ipv4:"), std::nullopt);
  EXPECT_EQ(parse_peer(""), std::nullopt);
}

// ---- the end ----

TEST_F(Door, NewcomersCanBeRefused) {
  open(/*tls=*/false);
  RawConnection before(port());
  ASSERT_TRUE(eventually([&] { return let_in() == 1; }));
  door->refuse_newcomers();
  RawConnection after(port());
  after.until_closed();
  EXPECT_TRUE(eventually([&] { return refused("closed") == 1; }));
  EXPECT_TRUE(before.is_quiet());
  door->refuse_newcomers(false);
  const RawConnection again(port());
  EXPECT_TRUE(eventually([&] { return let_in() == 2; }));
}

TEST_F(Door, WhatWasHandedOverOutlivesIt) {
  open(/*tls=*/false);
  RawConnection client(port());
  ASSERT_TRUE(eventually([&] { return let_in() == 1; }));
  const int where = port();
  door->stop();
  EXPECT_TRUE(client.is_quiet());
  EXPECT_FALSE(RawConnection(where).connected());
  door->authenticated(client.name());
  EXPECT_EQ(door->counts().open, 0U);
  door.reset();
  EXPECT_TRUE(client.is_quiet());
  inside.clear();
  client.until_closed();
}

}  // namespace
}  // namespace feroma::net::test
