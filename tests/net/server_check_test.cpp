#include "feroma/net/server_check.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include "core/listener.h"
#include "tests/net/server_check_fixture.h"

namespace feroma::net::test {
namespace {

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

TEST_F(ServerCheck, ClientsOfFlowerCannotScaleTheirInputs) {
  const ListenOptions listen{"127.0.0.1:0", certs_, "", FlowerOptions{"127.0.0.1:0", certs_}};
  const std::vector<CheckLine> lines = check_server(plan({"training.standardise=true"}), listen);
  EXPECT_TRUE(has_problem(lines));
  EXPECT_TRUE(holds(check_table(lines), "training.standardise must be false where clients of Flower come"));
  EXPECT_FALSE(has_problem(check(plan({"training.standardise=true"}))));
}

// ---- machine ----

TEST_F(ServerCheck, TooLittleDisk) {
  FederationPlan what = plan();
  what.experiment.scenario.clients = 2'000'000'000;
  const std::vector<CheckLine> lines = check(what);
  EXPECT_TRUE(has_problem(lines));
  EXPECT_TRUE(
      holds(check_table(lines), "MB may be needed\n                       -> make room there, or name another folder"));
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

TEST_F(ServerCheck, AnAddressThatIsNone) {
  EXPECT_TRUE(holds(problem(check_server(plan(), {"7443", certs_}), "port"), "an address must be HOST:PORT"));
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

}  // namespace
}  // namespace feroma::net::test
