// What is found in a folder of certificates that somebody has worked on.
#include "tests/core/expect_error.h"
#include "tests/net/certificate_folder.h"

namespace feroma::test {
namespace {

using feroma::test::holds;
using feroma::test::TempFolder;

TEST_F(Certificates, HaveNoProblemsAtFirst) {
  EXPECT_EQ(check_certificates(path()), std::vector<std::string>());
  // What a server's machine needs, and no more.
  fs::remove(file("ca.key"));
  fs::remove_all(file("clients"));
  EXPECT_EQ(check_certificates(path()), std::vector<std::string>());
}

TEST_F(Certificates, AreMissed) {
  const TempFolder empty;
  const std::vector<std::string> problems = check_certificates(empty.path());
  ASSERT_EQ(problems.size(), 4U);
  for (const char* name : {"ca.pem", "server.pem", "server.key", "clients.list"}) {
    EXPECT_TRUE(std::any_of(problems.begin(), problems.end(), [&](const std::string& problem) {
      return problem == fmt::format("{}: is missing", (empty / name).string());
    })) << name;
  }
}

// As where the folder is somebody else's: nothing is missing then.
TEST_F(Certificates, ThatCannotBeLookedAtAreNotMissing) {
  const std::vector<std::string> problems = check_certificates(path() / std::string(300, 'x'));
  ASSERT_EQ(problems.size(), 4U);
  for (const std::string& problem : problems) {
    EXPECT_TRUE(holds(problem, ": cannot read: File name too long")) << problem;
  }
}

TEST_F(Certificates, ExpireInTime) {
  redate(file("server.pem"), file("ca.key"), -3 * kDay, 14 * kDay + 60);
  EXPECT_TRUE(check_certificates(path()).empty());
  redate(file("server.pem"), file("ca.key"), -3 * kDay, 14 * kDay - 60);
  EXPECT_TRUE(holds(problem(), "server.pem: expires in 13 days, on 2"));
  redate(file("server.pem"), file("ca.key"), -3 * kDay, -60);
  EXPECT_TRUE(holds(problem(), "server.pem: expired on 2"));
  redate(file("server.pem"), file("ca.key"), 60, 100 * kDay);
  EXPECT_TRUE(holds(problem(), "server.pem: is not valid before 2"));
  issue_server(path(), {"localhost"});
  redate(file("ca.pem"), file("ca.key"), -3 * kDay, -60);
  EXPECT_TRUE(holds(problem(), "ca.pem: expired on 2"));
}

TEST_F(Certificates, BelongToTheirKeys) {
  fs::copy_file(file("clients/bob.key"), file("server.key"), fs::copy_options::overwrite_existing);
  EXPECT_EQ(problem(), "server.key: does not belong to server.pem");
  issue_server(path(), {"localhost"});
  fs::copy_file(file("clients/bob.key"), file("ca.key"), fs::copy_options::overwrite_existing);
  EXPECT_EQ(problem(), "ca.key: does not belong to ca.pem");
}

TEST_F(Certificates, AreOfThisAuthority) {
  const TempFolder other;
  make_authority(other.path());
  issue_server(other.path(), {"localhost"});
  fs::copy_file(other / "server.pem", file("server.pem"), fs::copy_options::overwrite_existing);
  fs::copy_file(other / "server.key", file("server.key"), fs::copy_options::overwrite_existing);
  EXPECT_EQ(problem(), "server.pem: is not signed by ca.pem");
}

TEST_F(Certificates, AreOfTheRightKind) {
  fs::copy_file(file("clients/bob.pem"), file("server.pem"), fs::copy_options::overwrite_existing);
  fs::copy_file(file("clients/bob.key"), file("server.key"), fs::copy_options::overwrite_existing);
  EXPECT_EQ(problem(), "server.pem: is not the certificate of a server");
  write(file("server.pem"), "nonsense");
  EXPECT_EQ(problem(), "server.pem: must be a certificate in PEM form");
  issue_server(path(), {"localhost"});
  write(file("server.key"), "nonsense");
  fs::permissions(file("server.key"), fs::perms(0600));
  EXPECT_EQ(problem(), "server.key: must be a private key in PEM form without a pass phrase");
  issue_server(path(), {"localhost"});
  fs::copy_file(file("server.pem"), file("ca.pem"), fs::copy_options::overwrite_existing);
  fs::remove(file("ca.key"));
  const std::vector<std::string> problems = check_certificates(path());
  EXPECT_EQ(shortened(problems.at(0)), "ca.pem: is not the certificate of an authority");
}

// Nothing that is certified depends on it, so nothing else would notice.
TEST_F(Certificates, AnAuthorityKeepsItsOwnSignature) {
  std::string text = read_text(file("ca.pem"));
  const std::size_t signature = text.find("-----END") - 20;
  text[signature] = text[signature] == 'A' ? 'B' : 'A';
  write(file("ca.pem"), text);
  const std::string damaged = "ca.pem: is damaged: its signature is not of what it says";
  EXPECT_EQ(problem(), damaged);
  EXPECT_TRUE(holds(feroma::test::error_of(ErrorCode::invalid_data,
                                           [&] {
                                             require_usable(file("ca.pem"), {file("server.pem"), file("server.key")});
                                           }),
                    damaged));
}

TEST_F(Certificates, KeepTheirKeysSecret) {
  for (const unsigned mode : {0644U, 0640U, 0620U}) {
    fs::permissions(file("server.key"), fs::perms(mode));
    EXPECT_EQ(problem(),
              fmt::format("server.key: must be open to its owner alone (chmod 600), but has mode {:04o}", mode));
  }
  fs::permissions(file("server.key"), fs::perms(0400));
  EXPECT_TRUE(check_certificates(path()).empty());
  fs::permissions(file("clients/bob.key"), fs::perms(0604));
  EXPECT_TRUE(holds(problem(), "clients/bob.key: must be open to its owner alone"));
}

TEST_F(Certificates, OfClientsAreExaminedToo) {
  redate(file("clients/bob.pem"), file("ca.key"), -3 * kDay, 3 * kDay + 60);
  const std::vector<std::string> problems = check_certificates(path());
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_TRUE(holds(shortened(problems[0]), "clients/bob.pem: expires in 3 days"));
  EXPECT_EQ(shortened(problems[1]), "clients/bob.pem: has another fingerprint than in clients.list");
  revoke_client(path(), "bob");  // then nobody cares
  EXPECT_TRUE(check_certificates(path()).empty());
  fs::copy_file(file("server.pem"), file("clients/alice.pem"), fs::copy_options::overwrite_existing);
  fs::copy_file(file("server.key"), file("clients/alice.key"), fs::copy_options::overwrite_existing);
  EXPECT_EQ(shortened(check_certificates(path()).at(0)), "clients/alice.pem: is not the certificate of a client");
}

TEST_F(Certificates, NeedAListThatNamesSomebody) {
  revoke_client(path(), "alice");
  revoke_client(path(), "bob");
  EXPECT_EQ(problem(), "clients.list: names no client that may take part");
  write(file("clients.list"), "");
  EXPECT_EQ(problem(),
            "clients.list: names no client, so it was emptied or cut; carry it over again from where certificates are "
            "made");
  write(file("clients.list"), "nonsense\n");
  EXPECT_TRUE(holds(problem(), "clients.list:1: a line must be"));
}

// Whoever removes a line gives the id back, for a certificate that takes the place of an old one.
TEST_F(Certificates, OfAClientAreRenewedOnceItsLineIsGone) {
  const ClientEntry alice = *list().find_name("alice");
  write(file("clients.list"), fmt::format("1 bob {}\n", list().find_name("bob")->fingerprint));
  const ClientEntry renewed = issue_client(path(), "alice", alice.id);
  EXPECT_EQ(renewed.id, alice.id);
  EXPECT_NE(renewed.fingerprint, alice.fingerprint);
  EXPECT_FALSE(list().find(alice.fingerprint));
  EXPECT_TRUE(check_certificates(path()).empty());
}

}  // namespace
}  // namespace feroma::test
