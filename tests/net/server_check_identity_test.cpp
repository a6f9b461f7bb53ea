// Who may connect: certificates, keys and the list of clients.
#include "tests/net/server_check_fixture.h"

namespace feroma::net::test {
namespace {

TEST_F(ServerCheck, NoEncryptionIsForLoopback) {
  EXPECT_TRUE(holds(warning(check_server(plan(), {"127.0.0.1:0", {}}), "certificates"), "no encryption"));
  EXPECT_TRUE(holds(problem(check_server(plan(), {"0.0.0.0:0", {}}), "certificates"), "0.0.0.0:0 is not"));
}

TEST_F(ServerCheck, AMissingCertificate) {
  fs::remove(certs_ / "server.pem");
  EXPECT_TRUE(holds(problem(check(plan()), "certificates"), "server.pem: is missing"));
  EXPECT_TRUE(holds(advice(check(plan())), "make it with `feroma cert server NAME`"));
  issue_server(certs_, {"fed.example.org"});
  fs::remove(certs_ / "ca.pem");
  EXPECT_TRUE(holds(advice(check(plan())), "carry ca.pem over"));
}

TEST_F(ServerCheck, AKeyThatOthersMayRead) {
  const fs::path key = certs_ / "server.key";
  fs::permissions(key, fs::perms(0644));
  EXPECT_TRUE(holds(problem(check(plan()), "certificates"), "but has mode 0644"));
  EXPECT_EQ(advice(check(plan())), "chmod 600 " + key.string());
}

TEST_F(ServerCheck, AListThatIsMissing) {
  fs::remove(certs_ / "clients.list");
  EXPECT_TRUE(holds(problem(check(plan()), "certificates"), "clients.list: is missing"));
  EXPECT_TRUE(holds(advice(check(plan())), "certify clients with `feroma cert client NAME`"));
}

TEST_F(ServerCheck, AClientsFileNeedNotBeThere) {
  fs::copy_file(certs_ / "clients/site-1.key", certs_ / "clients/site-0.key", fs::copy_options::overwrite_existing);
  EXPECT_TRUE(holds(problem(check(plan()), "certificates"), "site-0.key: does not belong to"));
  EXPECT_TRUE(holds(advice(check(plan())), "take the file away"));
}

TEST_F(ServerCheck, TheAuthoritysKeyNeedNotBeRead) {
  fs::remove(certs_ / "ca.key");
  fs::create_directory(certs_ / "ca.key");
  fs::permissions(certs_ / "ca.key", fs::perms(0700));
  EXPECT_TRUE(holds(problem(check(plan()), "certificates"), "ca.key: cannot "));
  EXPECT_TRUE(holds(advice(check(plan())), "take the file away"));
}

TEST_F(ServerCheck, AKeyOfAnotherCertificate) {
  fs::copy_file(certs_ / "clients/site-0.key", certs_ / "server.key", fs::copy_options::overwrite_existing);
  EXPECT_TRUE(holds(problem(check(plan()), "certificates"), "server.key: does not belong to"));
  EXPECT_TRUE(holds(advice(check(plan())), "carry server.pem and server.key over"));
}

TEST_F(ServerCheck, ACertificateOfAnotherAuthority) {
  make_authority(folder_ / "other");
  issue_server(folder_ / "other", {"fed.example.org"});
  for (const std::string file : {"server.pem", "server.key"}) {
    fs::copy_file(folder_ / "other" / file, certs_ / file, fs::copy_options::overwrite_existing);
  }
  EXPECT_TRUE(holds(problem(check(plan()), "certificates"), "server.pem: is not signed by"));
}

TEST_F(ServerCheck, AnExpiredCertificateIsAProblemAndOneThatSoonWillBeAWarning) {
  redate(certs_ / "server.pem", -60);
  EXPECT_TRUE(holds(problem(check(plan()), "certificates"), "server.pem: expired on"));
  issue_server(certs_, {"fed.example.org"}, /*days=*/5);
  EXPECT_TRUE(holds(warning(check(plan()), "certificates"), "server.pem: expires in "));
}

TEST_F(ServerCheck, ACertificateWithoutNames) {
  const net::Identity authority{parse_certificate(read_text(certs_ / "ca.pem"), "test"),
                                parse_key(read_text(certs_ / "ca.key"), "test")};
  Wanted wanted{{}, "nameless", 100};
  wanted.purpose = "serverAuth";
  const net::Identity nameless = certify(wanted, &authority);
  write_file_atomically(certs_ / "server.pem", pem_of(*nameless.certificate));
  write_file_atomically(certs_ / "server.key", pem_of(*nameless.key));
  fs::permissions(certs_ / "server.key", fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_TRUE(holds(problem(check(plan()), "certificates"), "server.pem: names no host"));
}

TEST_F(ServerCheck, TooFewClientsOnTheList) {
  revoke_client(certs_, "site-1");
  EXPECT_TRUE(holds(problem(check(plan()), "clients"), "2 on the list may take part, server.min_clients is 3"));
}

TEST_F(ServerCheck, AClientWhoseIdIsTooHigh) {
  static_cast<void>(issue_client(certs_, "late-comer"));
  EXPECT_TRUE(holds(warning(check(plan()), "clients"), "late-comer has id 3, so it may ask for a model but not train"));
  EXPECT_TRUE(holds(advice(check(plan())), "certify it under another name, with a free number below scenario.clients"));
}

TEST_F(ServerCheck, ClientsOfFlowerNeedNotBeOnTheList) {
  revoke_client(certs_, "site-1");
  ListenOptions listen{"127.0.0.1:0", certs_};
  listen.flower = FlowerOptions{"127.0.0.1:0", certs_};
  EXPECT_TRUE(holds(warning(check_server(plan(), listen), "clients"), "2 on the list may take part"));
}

// What to do about damage is another thing than what to do about a file that is missing, or somebody else's.
TEST_F(ServerCheck, ACertificateThatIsDamaged) {
  const fs::path path = certs_ / "server.pem";
  const std::string whole = read_text(path);
  for (const char* begins : {"-----BEGIN", "-----END"}) {
    std::string text = whole;
    text.erase(text.find(begins), 5);
    write_file_atomically(path, text);
    EXPECT_TRUE(holds(problem(check(plan()), "certificates"), "server.pem: must be a certificate in PEM form"));
    EXPECT_TRUE(advice(check(plan())).starts_with("carry server.pem and server.key over again;"))
        << advice(check(plan()));
  }
}

TEST_F(ServerCheck, AnAuthorityThatIsNone) {
  const Bytes whole = read_file(certs_ / "ca.pem");
  fs::remove(certs_ / "ca.key");
  fs::copy_file(certs_ / "clients/site-0.pem", certs_ / "ca.pem", fs::copy_options::overwrite_existing);
  EXPECT_TRUE(holds(problem(check(plan()), "certificates"), "ca.pem: is not the certificate of an authority"))
      << "and of the others nothing is known";
  EXPECT_TRUE(holds(advice(check(plan())), "carry ca.pem over"));
}

TEST_F(ServerCheck, AListThatIsDamaged) {
  const fs::path list = certs_ / "clients.list";
  const std::string whole = read_text(list);
  write_file_atomically(list, std::string_view(whole).substr(0, whole.size() - 9));
  EXPECT_TRUE(holds(problem(check(plan()), "certificates"), "clients.list"));
  EXPECT_EQ(advice(check(plan())), "carry clients.list over again");
  write_file_atomically(list, std::string_view("0 site-0\n"));
  EXPECT_TRUE(holds(problem(check(plan()), "certificates"), "clients.list:1: a line must be ID NAME FINGERPRINT"));
  EXPECT_EQ(advice(check(plan())), "carry clients.list over again");
}

TEST_F(ServerCheck, AClientWhoseCertificateHasExpired) {
  redate(certs_ / "clients/site-1.pem", -60);
  const std::vector<CheckLine> lines = check(plan());
  const auto expired = std::find_if(lines.begin(), lines.end(),
                                    [](const CheckLine& line) { return holds(line.text, "site-1.pem: expired on"); });
  ASSERT_NE(expired, lines.end()) << check_table(lines);
  EXPECT_TRUE(holds(expired->advice, "`feroma cert renew NAME`")) << expired->advice;
}

}  // namespace
}  // namespace feroma::net::test
