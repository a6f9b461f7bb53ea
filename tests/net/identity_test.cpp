// Who is let in over a real network, and who is not: each of them once, with one line in the log.
#include "tests/net/identity_fixture.h"

namespace feroma::net::test {
namespace {

constexpr const char* kRefusedByTls = "its certificate was refused";

// ---- certificates ----

TEST_F(Identity, OfAnExpiredCertificateIsRefused) {
  const Papers papers = forged(certs(), -2 * kDay, -kDay);
  listen();
  EXPECT_EQ(knock(tls(papers)), "");
  expect_one_line(kRefusedByTls);
}

TEST_F(Identity, OfACertificateThatHasNotBegunIsRefused) {
  const Papers papers = forged(certs(), kDay, 2 * kDay);
  listen();
  EXPECT_EQ(knock(tls(papers)), "");
  expect_one_line(kRefusedByTls);
}

TEST_F(Identity, ForgedWellWouldBeLetIn) {
  const Papers papers = forged(certs(), -kDay, kDay);
  listen();
  EXPECT_EQ(knock(tls(papers)), "welcome") << "the tests around this one must fail for their own reasons";
}

TEST_F(Identity, OfAnotherAuthorityIsRefused) {
  const feroma::test::TempFolder other;
  make_authority(other.path());
  const Papers papers = forged(other.path(), -kDay, kDay);
  listen();
  EXPECT_EQ(knock(tls(papers)), "");
  expect_one_line(kRefusedByTls);
}

TEST_F(Identity, SignedByItselfIsRefused) {
  const Papers papers = forged({}, -kDay, kDay);
  listen();
  EXPECT_EQ(knock(tls(papers)), "");
  expect_one_line(kRefusedByTls);
}

TEST_F(Identity, OfAServerIsNotAClients) {
  const Papers papers = forged(certs(), -kDay, kDay, "serverAuth");
  listen();
  EXPECT_EQ(knock(tls(papers)), "");
  expect_one_line(kRefusedByTls);
}

TEST_F(Identity, MustBeShown) {
  listen();
  EXPECT_EQ(knock(tls({read_text(authority()), "", ""})), "");
  expect_one_line(kRefusedByTls);
}

TEST_F(Identity, OfTheServerIsCheckedByItsName) {
  listen();
  EXPECT_EQ(knock(tls(good()), "other.example.org"), "");
  expect_one_line("it left");
}

TEST_F(Identity, OfTheServerIsCheckedByItsAuthority) {
  const feroma::test::TempFolder other;
  make_authority(other.path());
  Papers papers = good();
  papers.authority = read_text(authority_files(other.path()).certificate);
  listen();
  EXPECT_EQ(knock(tls(papers)), "");
  expect_one_line("it left");
}

// ---- how often ----

TEST_F(Identity, OfOneCertificateIsInsideAFewTimes) {
  limits.per_certificate = 1;
  listen();
  std::string second;
  bool is_inside = false;
  while_inside = [&] {
    if (!std::exchange(is_inside, true)) {
      second = knock(tls(good()));
    }
  };
  EXPECT_EQ(knock(tls(good())), "welcome");
  EXPECT_EQ(second, "too many connections of one certificate");
  EXPECT_EQ(server->door().counts().refused.at("certificate_limit"), 1U);
  expect_one_line("too many connections of its certificate");
}

// ---- the list ----

TEST_F(Identity, ThatWasRevokedIsRefused) {
  listen();
  EXPECT_EQ(knock(tls(papers_of(authority(), client_files(certs(), "revoked")))),
            "the certificate of revoked was revoked");
  expect_one_line("the certificate of revoked was revoked");
}

// A server that is started again in the middle of a round may have a revoked client among those of the round.
TEST_F(Identity, ThatWasRevokedIsNotWaitedFor) {
  listen();
  server->enforce_list();
  const std::vector<ClientId> wanted{read_client_list(client_list_file(certs())).find_name("revoked").value().id};
  const auto start = Clock::machine().now();
  EXPECT_TRUE(hub->await(wanted, 60).empty());
  EXPECT_LT(Clock::machine().now() - start, std::chrono::seconds(30));
}

TEST_F(Identity, ThatIsRevokedWhileItIsInsideIsSentAway) {
  listen();
  while_inside = [this] {
    EXPECT_TRUE(eventually([this] { return hub->present().size() == 1; })) << "the welcome comes before that";
    server->enforce_list();
    EXPECT_EQ(hub->present().size(), 1U) << "who is on the list stays";
    revoke_client(certs(), "good");
    server->enforce_list();
    EXPECT_TRUE(eventually([this] { return hub->present().empty(); }));
  };
  EXPECT_EQ(knock(tls(good())), "welcome");
  ASSERT_EQ(lines().size(), 1U) << ::testing::PrintToString(lines());
  EXPECT_NE(lines().front().find("good is sent away: its certificate was revoked"), std::string::npos);
  EXPECT_EQ(hub->traffic().verdicts[v1::UNKNOWN_CLIENT], 1U);
}

// Nobody can read the list at first, as while somebody carries it over; then it can be read, and is as old as before.
TEST_F(Identity, ThatIsRevokedInAListThatCouldNotBeReadIsSentAwayLater) {
  listen();
  while_inside = [this] {
    EXPECT_TRUE(eventually([this] { return hub->present().size() == 1; }));
    server->enforce_list();
    const fs::path list = client_list_file(certs());
    revoke_client(certs(), "good");
    const std::string revoked = read_text(list);
    write_file_atomically(list, std::string_view("half\n"));
    const fs::file_time_type when = fs::last_write_time(list);
    server->enforce_list();
    server->enforce_list();
    EXPECT_EQ(hub->present().size(), 1U) << "nobody is shut out by a list that cannot be read";
    write_file_atomically(list, revoked);
    fs::last_write_time(list, when);
    server->enforce_list();
    EXPECT_TRUE(eventually([this] { return hub->present().empty(); }));
  };
  EXPECT_EQ(knock(tls(good())), "welcome");
  const std::vector<std::string> written = lines();
  ASSERT_EQ(written.size(), 2U) << ::testing::PrintToString(written);
  EXPECT_NE(written.front().find("a line must be ID NAME FINGERPRINT"), std::string::npos) << written.front();
  EXPECT_NE(written.back().find("good is sent away: its certificate was revoked"), std::string::npos);
}

// Half a list may be all that is written so far, and a list that is not there says nothing of anybody.
TEST_F(Identity, ThatIsTakenOffTheListIsSentAwayOnceNobodyWritesIt) {
  feroma::test::FakeClock clock;
  limits.clock = &clock;
  listen();
  const std::shared_ptr<Session> flower = hub->connect(Peer{"flower", std::nullopt, "flower"}, [] {});
  while_inside = [this, &clock] {
    EXPECT_TRUE(eventually([this] { return hub->present().size() == 1; }));
    server->enforce_list();
    const fs::path list = client_list_file(certs());
    fs::remove(list);
    add_to_client_list(list, {ClientId{7}, "somebody-else", std::string(64, 'd')});
    server->enforce_list();
    server->enforce_list();
    EXPECT_EQ(hub->present().size(), 1U) << "somebody may still be writing it";
    fs::rename(list, folder() / "elsewhere");
    clock.advance(3);
    server->enforce_list();
    server->enforce_list();
    EXPECT_EQ(hub->present().size(), 1U) << "nobody is shut out by a list that is not there";
    fs::rename(folder() / "elsewhere", list);
    for (int i = 0; i < 3; ++i) {
      server->enforce_list();
      clock.advance(3);
    }
    EXPECT_TRUE(eventually([this] { return hub->present().empty(); }));
  };
  EXPECT_EQ(knock(tls(good())), "welcome");
  const std::vector<std::string> written = lines();
  ASSERT_EQ(written.size(), 2U) << ::testing::PrintToString(written);
  EXPECT_NE(written.front().find("cannot look at this list"), std::string::npos) << written.front();
  EXPECT_NE(written.back().find("good is sent away: its certificate is not on the list any more"), std::string::npos);
  EXPECT_EQ(hub->traffic().verdicts[v1::UNKNOWN_CLIENT], 1U);
  EXPECT_FALSE(flower->has_its_end()) << "who has no certificate is on no list";
  flower->disconnected();
  server.reset();  // before its clock
}

TEST_F(Identity, ThatIsRefusedManyTimesIsOneLineASecond) {
  listen();
  const Papers papers = papers_of(authority(), client_files(certs(), "revoked"));
  constexpr std::size_t kTimes = 8;
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < kTimes; ++i) {
    EXPECT_EQ(knock(tls(papers)), "the certificate of revoked was revoked");
    EXPECT_TRUE(eventually([&] { return server->door().counts().open == 0; }));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_EQ(hub->traffic().verdicts[v1::UNKNOWN_CLIENT], kTimes) << "each is counted";
  EXPECT_LE(static_cast<double>(lines().size()), 1 + seconds);
}

// After the look at the list, before there is a session that could be sent away.
TEST_F(Identity, ThatIsRevokedWhileItComesInIsSentAway) {
  listen();
  const Once revokes("hub.connected", [this] { revoke_client(certs(), "good"); });
  EXPECT_NE(knock(tls(good())), "welcome");
  EXPECT_TRUE(hub->present().empty());
  ASSERT_EQ(lines().size(), 1U) << ::testing::PrintToString(lines());
  EXPECT_NE(lines().front().find("good is sent away: its certificate was revoked"), std::string::npos);
}

TEST_F(Identity, ThatIsNotOnTheListIsRefused) {
  const Papers papers = forged(certs(), -kDay, kDay);
  fs::copy_file(original() / "clients.list", client_list_file(certs()), fs::copy_options::overwrite_existing);
  listen();
  const std::string reason = knock(tls(papers));
  EXPECT_EQ(reason, fmt::format("certificate {} is not on the list", fingerprint_of_pem(papers.certificate)));
  expect_one_line("is not on the list");
}

}  // namespace
}  // namespace feroma::net::test
