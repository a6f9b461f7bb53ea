#include "feroma/net/server_check.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <memory>

#include "core/listener.h"
#include "feroma/core/files.h"
#include "feroma/net/certificates.h"
#include "feroma/store/round_log.h"
#include "net/x509.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"

namespace feroma::net::test {
namespace {

namespace fs = std::filesystem;

using testing::holds;

/// A server with certificates to which nothing is wrong, until a test breaks one thing.
class ServerCheck : public ::testing::Test {
 protected:
  ServerCheck() {
    make_authority(certs_);
    issue_server(certs_, {"fed.example.org", "127.0.0.1"});
    for (const std::string name : {"site-0", "site-1", "site-2"}) {
      static_cast<void>(issue_client(certs_, name));
    }
  }

  FederationPlan plan(const std::vector<std::string>& overrides = {}) const {
    Settings settings = parse_settings(R"(
[scenario]
dataset = "fmnist"
clients = 3
rounds = 5
[training]
model = "lenet5"
[[algorithm]]
name = "feroma"
warmup_rounds = 2
[server]
min_clients = 3
)",
                                       "test");
    for (const std::string& override : overrides) {
      apply_override(settings, override);
    }
    FederationPlan plan = read_federation_plan(settings);
    plan.state = state_;
    return plan;
  }

  [[nodiscard]] std::vector<CheckLine> check(const FederationPlan& what) const {
    return check_server(what, {"127.0.0.1:0", certs_});
  }

  /// The only line that is not ok, which must have this verdict and subject, and advice.
  static std::string only(const std::vector<CheckLine>& lines, CheckVerdict verdict, const std::string& subject) {
    std::string text;
    for (const CheckLine& line : lines) {
      if (line.verdict != CheckVerdict::ok) {
        EXPECT_EQ(text, "") << "a second finding\n" << check_table(lines);
        EXPECT_EQ(name_of(line.verdict), name_of(verdict)) << check_table(lines);
        EXPECT_EQ(line.subject, subject);
        EXPECT_NE(line.advice, "");
        text = line.text;
      } else {
        EXPECT_EQ(line.advice, "");
      }
    }
    EXPECT_NE(text, "") << "nothing was found\n" << check_table(lines);
    EXPECT_EQ(has_problem(lines), verdict == CheckVerdict::problem);
    return text;
  }
  static std::string problem(const std::vector<CheckLine>& lines, const std::string& subject) {
    return only(lines, CheckVerdict::problem, subject);
  }
  static std::string warning(const std::vector<CheckLine>& lines, const std::string& subject) {
    return only(lines, CheckVerdict::warning, subject);
  }

  /// Lets a certificate end some seconds from now.
  void redate(const fs::path& path, long seconds) const {
    const Certificate certificate = parse_certificate(read_text(path), "test");
    const PrivateKey key = parse_key(read_text(authority_files(certs_).key), "test");
    ASSERT_NE(X509_gmtime_adj(X509_getm_notAfter(certificate.get()), seconds), nullptr);
    ASSERT_GT(X509_sign(certificate.get(), key.get(), EVP_sha256()), 0);
    write_file_atomically(path, pem_of(*certificate));
  }

  /// Begins a federation with a plan's config, as a server does.
  [[nodiscard]] RoundLog begin(const FederationPlan& what) const {
    return RoundLog(state_, [&] { return JobRecord{"job", to_toml(what.experiment.resolved())}; });
  }

  testing::TempFolder folder_;
  fs::path certs_ = folder_ / "certs";
  fs::path state_ = folder_ / "federation";
};

TEST_F(ServerCheck, FindsNothingWhereAllIsWell) {
  const std::vector<CheckLine> lines = check(plan());
  EXPECT_FALSE(has_problem(lines)) << check_table(lines);
  std::vector<std::string> subjects;
  for (const CheckLine& line : lines) {
    EXPECT_EQ(name_of(line.verdict), "ok") << line.text;
    subjects.push_back(line.subject);
  }
  EXPECT_EQ(subjects,
            (std::vector<std::string>{"algorithm", "certificates", "clients", "state", "disk", "port", "descriptors"}));
  EXPECT_FALSE(fs::exists(state_)) << "a check makes no folder";
}

TEST_F(ServerCheck, PrintsOneLineEachAndAdviceBelow) {
  const std::vector<CheckLine> lines = {{CheckVerdict::ok, "port", "it is free", ""},
                                        {CheckVerdict::problem, "state", "it is gone", "look for it"}};
  EXPECT_EQ(check_table(lines),
            "ok       port          it is free\n"
            "problem  state         it is gone\n"
            "                       -> look for it\n");
}

// ---- algorithm ----

TEST_F(ServerCheck, AnAlgorithmThatCannotKeepTheBudget) {
  FederationPlan what = plan({"privacy.mode=\"gaussian\""});
  what.experiment.algorithms = read_experiment(parse_settings("[[algorithm]]\nname = \"fedavg\"", "test")).algorithms;
  EXPECT_TRUE(holds(problem(check(what), "algorithm"), "its clients send exact counts"));
}

TEST_F(ServerCheck, MoreClientsAskedForThanThereCanBe) {
  const FederationPlan what = plan({"scenario.clients=2", "server.min_clients=3"});
  const std::vector<CheckLine> lines = check(what);
  EXPECT_TRUE(has_problem(lines));
  EXPECT_TRUE(holds(check_table(lines), "server.min_clients must be at most scenario.clients, 2, got 3"));
}

// ---- certificates ----

TEST_F(ServerCheck, NoEncryptionIsForLoopback) {
  EXPECT_TRUE(holds(warning(check_server(plan(), {"127.0.0.1:0", {}}), "certificates"), "no encryption"));
  EXPECT_TRUE(holds(problem(check_server(plan(), {"0.0.0.0:0", {}}), "certificates"), "0.0.0.0:0 is not"));
}

TEST_F(ServerCheck, AMissingCertificate) {
  fs::remove(certs_ / "server.pem");
  EXPECT_TRUE(holds(problem(check(plan()), "certificates"), "server.pem: is missing"));
}

TEST_F(ServerCheck, AKeyOfAnotherCertificate) {
  fs::copy_file(certs_ / "clients/site-0.key", certs_ / "server.key", fs::copy_options::overwrite_existing);
  EXPECT_TRUE(holds(problem(check(plan()), "certificates"), "server.key: does not belong to"));
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
  const Identity authority{parse_certificate(read_text(certs_ / "ca.pem"), "test"),
                           parse_key(read_text(certs_ / "ca.key"), "test")};
  Wanted wanted{{}, "nameless", 100};
  wanted.purpose = "serverAuth";
  const Identity nameless = certify(wanted, &authority);
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
}

// ---- state ----

TEST_F(ServerCheck, AFolderThatCannotBe) {
  write_file_atomically(folder_ / "file", std::string_view("no folder"));
  FederationPlan what = plan();
  what.state = folder_ / "file" / "federation";
  const std::vector<CheckLine> lines = check(what);
  EXPECT_TRUE(holds(check_table(lines), "file: is not a folder"));
  EXPECT_TRUE(has_problem(lines));
}

TEST_F(ServerCheck, AFederationThatGoesOn) {
  {
    RoundLog log = begin(plan());
    log.commit(1, [](ModelWriter&) {});
  }
  const std::vector<CheckLine> lines = check(plan());
  EXPECT_FALSE(has_problem(lines)) << check_table(lines);
  EXPECT_TRUE(holds(check_table(lines), "holds this federation, which goes on after round 1"));
}

TEST_F(ServerCheck, AFederationWithAnotherConfig) {
  static_cast<void>(begin(plan()));
  EXPECT_TRUE(holds(problem(check(plan({"scenario.rounds=6"})), "state"), "holds a federation with another config"));
}

TEST_F(ServerCheck, AServerThatIsAtWork) {
  const RoundLog held = begin(plan());
  EXPECT_TRUE(holds(problem(check(plan()), "state"), "another server is at work here"));
}

TEST_F(ServerCheck, ADamagedJournal) {
  {
    RoundLog log = begin(plan());
    log.start({1, {ClientId{0}}});
  }
  Bytes bytes = read_file(state_ / "journal");
  bytes[40] ^= std::byte{1};  // in the first record, with another one behind it
  write_file_atomically(state_ / "journal", bytes);
  EXPECT_TRUE(holds(problem(check(plan()), "state"), "journal: is damaged"));
}

// ---- machine ----

TEST_F(ServerCheck, TooLittleDisk) {
  FederationPlan what = plan();
  what.experiment.scenario.clients = 2'000'000'000;
  const std::vector<CheckLine> lines = check(what);
  EXPECT_TRUE(has_problem(lines));
  EXPECT_TRUE(holds(check_table(lines), "MB may be needed\n                       -> name another folder"));
}

TEST_F(ServerCheck, APortThatIsTaken) {
  const std::vector<Descriptor> taken = listen_at("127.0.0.1:0");
  const ListenOptions listen{fmt::format("127.0.0.1:{}", port_of(taken.front())), certs_};
  EXPECT_TRUE(holds(problem(check_server(plan(), listen), "port"), "in use"));
}

TEST_F(ServerCheck, OnePortForTwoThings) {
  const int free = port_of(listen_at("127.0.0.1:0").front());
  ListenOptions listen{fmt::format("127.0.0.1:{}", free), certs_};
  listen.http_address = listen.address;
  EXPECT_TRUE(holds(problem(check_server(plan(), listen), "port"), "in use"));
}

TEST_F(ServerCheck, ClientsOfFlowerNeedNotBeOnTheList) {
  revoke_client(certs_, "site-1");
  ListenOptions listen{"127.0.0.1:0", certs_};
  listen.flower = FlowerOptions{"127.0.0.1:0", certs_};
  EXPECT_TRUE(holds(warning(check_server(plan(), listen), "clients"), "2 on the list may take part"));
}

// ---- Flower ----

TEST_F(ServerCheck, WhatFlowersClientsCannotDo) {
  ListenOptions listen{"127.0.0.1:0", certs_};
  listen.flower = FlowerOptions{"127.0.0.1:0", certs_};
  const std::vector<CheckLine> lines = check_server(plan(), listen);
  EXPECT_FALSE(has_problem(lines)) << check_table(lines);
  EXPECT_TRUE(holds(check_table(lines), "ok       flower"));
  FederationPlan other = plan();
  other.experiment.algorithms =
      read_experiment(parse_settings("[[algorithm]]\nname = \"scaffold\"", "test")).algorithms;
  EXPECT_TRUE(holds(problem(check_server(other, listen), "flower"), "cannot take part in scaffold"));
  EXPECT_TRUE(holds(problem(check_server(plan({"privacy.mode=\"gaussian\""}), listen), "flower"),
                    "cannot take part under privacy.mode gaussian"));
}

TEST_F(ServerCheck, FlowersClientsWithoutEncryptionAreForLoopback) {
  ListenOptions listen{"127.0.0.1:0", {}};
  listen.flower = FlowerOptions{"0.0.0.0:0"};
  const std::string table = check_table(check_server(plan(), listen));
  EXPECT_TRUE(has_problem(check_server(plan(), listen))) << table;
  EXPECT_TRUE(
      holds(table, "problem  flower        listening for Flower's clients without certificates is for loopback"))
      << table;
}

TEST_F(ServerCheck, AnAddressThatIsNone) {
  EXPECT_TRUE(holds(problem(check_server(plan(), {"7443", certs_}), "port"), "an address must be like"));
}

TEST_F(ServerCheck, TooFewDescriptors) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto with_limit = [&](rlim_t limit) {
    rlimit lowered = before;
    lowered.rlim_cur = limit;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &lowered), 0);
    std::vector<CheckLine> lines = check(plan({"scenario.clients=50"}));
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    return lines;
  };
  // Two for each connection, 200 for the server itself.
  EXPECT_TRUE(holds(problem(with_limit(205), "descriptors"), "205 may be open, a round alone needs 206"));
  EXPECT_TRUE(holds(warning(with_limit(299), "descriptors"), "299 may be open, all clients at once need 300"));
}

}  // namespace
}  // namespace feroma::net::test
