#include "feroma/net/server_check.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
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

  FederationPlan plan(const std::vector<std::string>& overrides = {},
                      const std::string& algorithm = "name = 'feroma'\nwarmup_rounds = 2\n") const {
    Settings settings = parse_settings("[[algorithm]]\n" + algorithm + R"(
[scenario]
dataset = "fmnist"
clients = 3
rounds = 5
[training]
model = "lenet5"
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

  /// What to do about the only line that is not ok.
  static std::string advice(const std::vector<CheckLine>& lines) {
    const auto found = std::find_if(lines.begin(), lines.end(),
                                    [](const CheckLine& line) { return line.verdict != CheckVerdict::ok; });
    return found == lines.end() ? "" : found->advice;
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
  EXPECT_EQ(subjects, (std::vector<std::string>{"algorithm", "samples", "certificates", "clients", "state", "disk",
                                                "port", "descriptors"}));
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

/// The line about the algorithm, which must be ok.
std::string about_algorithm(const std::vector<CheckLine>& lines) {
  EXPECT_EQ(name_of(lines.front().verdict), "ok") << lines.front().text;
  EXPECT_EQ(lines.front().subject, "algorithm");
  return lines.front().text;
}

// LeNet-5 for coloured pictures of 28 x 28: 16 models fit into every answer, a method may need more.
TEST_F(ServerCheck, SaysHowLargeMessagesMayBe) {
  const std::uint64_t model = initialise(make_model("lenet5", {3, 28, 28}, 10), Rng(1)).layout().size * sizeof(float);
  const auto sizes = [&](std::uint64_t task, std::uint64_t answer) {
    return fmt::format("up to {} bytes to a client at once, {} from it", (1U << 20) + task * model,
                       (64U << 10) + answer * model);
  };
  EXPECT_TRUE(holds(about_algorithm(check(plan())), sizes(256, 16)));
  EXPECT_TRUE(holds(about_algorithm(check(plan({}, "name = 'fedem'\ncomponents = 64\n"))), sizes(256, 66)));
  EXPECT_TRUE(holds(about_algorithm(check(plan({}, "name = 'fedrc'\ncomponents = 20\n"))), sizes(256, 22)));
  EXPECT_TRUE(holds(about_algorithm(check(plan({}, "name = 'feddrift'\npool = 300\n"))), sizes(300, 300)));
}

TEST_F(ServerCheck, SaysWhatClientsSamplesMustBeLike) {
  EXPECT_TRUE(holds(check_table(check(plan())), "ok       samples       clients' must be 3x28x28, of 10 classes\n"));
  const FederationPlan table =
      plan({"server.input=\"12\"", "server.classes=4", "server.multi_label=true", "training.model=mlp"},
           "name = 'fedavg'\n");
  EXPECT_TRUE(holds(check_table(check(table)), "clients' must be 1x1x12, of 4 classes, with several labels each\n"));
}

TEST_F(ServerCheck, AnAlgorithmWithMoreModelsThanCanTravel) {
  const std::vector<CheckLine> lines = check(plan({}, "name = 'feddrift'\npool = 10000\n"));
  EXPECT_TRUE(holds(problem(lines, "algorithm"), "may send 10000 models in one message with 3 clients, at most 8192"));
}

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

TEST_F(ServerCheck, ValuesThatNobodyStandardises) {
  EXPECT_TRUE(holds(warning(check(plan({"training.standardise=true"})), "algorithm"), "as they are"));
}

// ---- state ----

TEST_F(ServerCheck, AFolderThatCannotBe) {
  write_file_atomically(folder_ / "file", std::string_view("no folder"));
  FederationPlan what = plan();
  what.state = folder_ / "file" / "federation";
  const std::vector<CheckLine> lines = check(what);
  EXPECT_TRUE(holds(check_table(lines), "file: is not a folder\n                       -> name another folder"));
  EXPECT_TRUE(has_problem(lines));
}

TEST_F(ServerCheck, AFolderThatIsSomebodyElses) {
  constexpr uid_t kNobody = 65534;
  const bool is_root = ::getuid() == 0;  // who may write everywhere
  make_writable_folder(folder_ / "theirs");
  fs::permissions(folder_ / "theirs", fs::perms(0500));
  fs::permissions(folder_.path(), fs::perms(0555));
  FederationPlan theirs = plan();
  theirs.state = folder_ / "theirs";
  if (is_root && ::setresuid(kNobody, kNobody, 0) != 0) {
    GTEST_SKIP() << "this root may not be somebody else: folders that may not be written are NOT tested";
  }
  const std::vector<CheckLine> lines = check_server(theirs, {"127.0.0.1:0", {}});
  const std::vector<CheckLine> absent = check_server(plan(), {"127.0.0.1:0", {}});
  ASSERT_EQ(is_root ? ::setresuid(0, 0, 0) : 0, 0);
  fs::permissions(folder_.path(), fs::perms(0700));
  fs::permissions(folder_ / "theirs", fs::perms(0700));
  EXPECT_TRUE(has_problem(lines));
  EXPECT_TRUE(holds(check_table(lines),
                    "cannot write in this folder: Permission denied\n                       -> let the user that the "
                    "server runs as read and write there"))
      << check_table(lines);
  // Nobody should be told to take /var/lib over for the sake of /var/lib/feroma.
  EXPECT_TRUE(has_problem(absent));
  EXPECT_TRUE(holds(check_table(absent), "federation: is not there, and cannot be made in")) << check_table(absent);
  EXPECT_FALSE(holds(check_table(absent), "chown")) << check_table(absent);
}

TEST_F(ServerCheck, AFederationThatGoesOn) {
  {
    RoundLog log = begin(plan());
    log.commit(1, [](ModelWriter&) {});
  }
  const std::vector<CheckLine> lines = check(plan());
  EXPECT_FALSE(has_problem(lines)) << check_table(lines);
  EXPECT_TRUE(holds(check_table(lines), "holds this federation, 1 of 5 rounds are finished"));
}

TEST_F(ServerCheck, AFederationThatIsFinished) {
  {
    RoundLog log = begin(plan());
    for (Round round = 1; round <= 5; ++round) {
      log.commit(round, [](ModelWriter&) {});
    }
  }
  EXPECT_TRUE(holds(check_table(check(plan())), "holds this federation, 5 of 5 rounds are finished"));
}

TEST_F(ServerCheck, AFederationThatPlaysMoreRoundsThanItsConfigHas) {
  const FederationPlan what = plan({}, "name = 'atp'\nrate_rounds = 7\n");
  {
    RoundLog log = begin(what);
    log.commit(1, [](ModelWriter&) {});
  }
  EXPECT_TRUE(holds(check_table(check(what)), "holds this federation, 1 of 12 rounds are finished"));
}

TEST_F(ServerCheck, AFederationWithAnotherConfig) {
  static_cast<void>(begin(plan()));
  const std::string text = "holds a federation with another config (scenario.rounds was 5, is 6)";
  const FederationPlan other = plan({"scenario.rounds=6"});
  EXPECT_TRUE(holds(problem(check(other), "state"), text));
  const std::atomic<bool> stop = false;
  const std::string error = testing::error_of(ErrorCode::invalid_config, [&] {
    const FederationServer never(other, {"127.0.0.1:0", certs_}, stop);
  });
  EXPECT_TRUE(holds(error, text + "; choose another folder"));
}

TEST_F(ServerCheck, AFederationFromAMachineWithOtherInstructions) {
  const auto begin_with = [this](SimdTarget target) {
    Settings config = plan().experiment.resolved();
    config["training.simd"] = {std::string(name_of(target)), "elsewhere"};
    std::filesystem::remove_all(state_);
    const RoundLog begun(state_, [&] { return JobRecord{"job", to_toml(config)}; });
  };
  const std::atomic<bool> stop = false;
  const bool fused = has_fused_products(plan().experiment.simd());
  for (const auto& [target, name] : enum_names(SimdTarget())) {
    SCOPED_TRACE(name);
    begin_with(target);
    if (has_fused_products(target) == fused) {
      EXPECT_TRUE(holds(check_table(check(plan())), "holds this federation, 0 of 5 rounds are finished"));
      EXPECT_NO_THROW(FederationServer(plan(), {"127.0.0.1:0", certs_}, stop)) << "the server agrees";
    } else {
      EXPECT_TRUE(holds(problem(check(plan()), "state"), "holds a federation with another config (training.simd was "));
      EXPECT_THROW(FederationServer(plan(), {"127.0.0.1:0", certs_}, stop), Error) << "its bits are others";
    }
  }
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
  EXPECT_TRUE(holds(advice(check(plan())), "restore the folder from a backup"));
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
  EXPECT_TRUE(holds(advice(check_server(plan(), listen)), "end what listens there"));
}

TEST_F(ServerCheck, OnePortForTwoThings) {
  const std::string free = fmt::format("127.0.0.1:{}", port_of(listen_at("127.0.0.1:0").front()));
  const std::vector<std::string> options = {"--listen", "--http-address", "--flower-address", "--dashboard"};
  for (std::size_t second = 1; second < options.size(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      const auto address = [&](std::size_t i) { return i == first || i == second ? free : "127.0.0.1:0"; };
      ListenOptions listen{address(0), certs_, address(1), FlowerOptions{address(2), certs_}};
      const std::vector<CheckLine> lines = check_server(plan(), listen, address(3));
      EXPECT_EQ(problem(lines, "port"),
                fmt::format("{0} {2} takes what {1} {2} needs", options[first], options[second], free));
      EXPECT_EQ(advice(lines), "choose another address for " + options[second]);
    }
  }
}

TEST_F(ServerCheck, OnePortForEveryAddressAndForOne) {
  const int free = port_of(listen_at("0.0.0.0:0").front());
  ListenOptions listen{fmt::format("0.0.0.0:{}", free), certs_};
  const std::string page = fmt::format("127.0.0.1:{}", free);
  EXPECT_TRUE(holds(problem(check_server(plan(), listen, page), "port"), "needs"));
  EXPECT_FALSE(has_problem(check_server(plan(), listen, "127.0.0.1:0")));
}

// Whoever shows the page says so.
TEST_F(ServerCheck, ADashboardsAddressThatIsTakenIsNoClash) {
  const std::vector<Descriptor> taken = listen_at("127.0.0.1:0");
  const std::string page = fmt::format("127.0.0.1:{}", port_of(taken.front()));
  EXPECT_FALSE(has_problem(check_server(plan(), {"127.0.0.1:0", certs_}, page)));
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
  EXPECT_TRUE(holds(advice(check_server(plan(), {"7443", certs_})), "give an address of this machine and a port"));
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
