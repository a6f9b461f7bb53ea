// How a server's config is read.
#include <gtest/gtest.h>

#include <set>

#include "feroma/core/files.h"
#include "feroma/net/server.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"

namespace feroma {
namespace {

using feroma::test::error_of;
using feroma::test::holds;

FederationPlan plan_of(const std::string& server, const std::string& more = "") {
  return read_federation_plan(parse_settings(
      "[scenario]\nclients = 3\n" + more + "[[algorithm]]\nname = 'fedavg'\n[server]\n" + server, "test"));
}

SampleShape input_of(const std::string& text) { return plan_of("classes = 2\ninput = '" + text + "'").input; }

TEST(FederationPlan, SaysWhatSamplesAreLike) {
  EXPECT_EQ(input_of("3x32x16"), (SampleShape{3, 32, 16}));
  EXPECT_EQ(input_of("12"), (SampleShape{1, 1, 12})) << "rows of a table, as their readers have them";
  const FederationPlan plan = plan_of("classes = 14\ninput = '1x64x64'\nmulti_label = true");
  EXPECT_EQ(plan.classes, 14);
  EXPECT_TRUE(plan.multi_label);
  const FederationPlan named = plan_of("min_clients = 2", "dataset = 'mnist'\n");
  EXPECT_EQ(named.input.height, 28) << "as the dataset where nothing else is said";
  EXPECT_EQ(named.classes, 10);
  EXPECT_FALSE(named.multi_label);
  for (const char* findings : {"chexpert", "nih-chestxray64"}) {
    EXPECT_TRUE(plan_of("min_clients = 2", fmt::format("dataset = '{}'\n", findings)).multi_label) << findings;
  }
}

TEST(FederationPlan, TellsOfNoDefaultThatAServerNeverUses) {
  FederationPlan plan = read_federation_plan(parse_settings(
      "[scenario]\nclients = 3\nrounds = 4\n[[algorithm]]\nname = 'feroma'\n[server]\nclasses = 2\ninput = '3'\n",
      "test"));
  std::set<std::string> told;
  for (const AdaptedDefault& one : plan.experiment.all_adapted()) {
    told.insert(one.key);
  }
  EXPECT_EQ(told,
            (std::set<std::string>{"algorithm.0.profile.dimensions", "algorithm.0.warmup_rounds", "training.model"}));
}

TEST(FederationPlan, RefusesShapesThatAreNone) {
  for (const char* bad : {"0", "3x", "3x32", "x3", "3x32x32x1", "-3", "3 x 32 x 32", "big", "0x28x28"}) {
    SCOPED_TRACE(bad);
    EXPECT_TRUE(holds(error_of(ErrorCode::invalid_config, [&] { static_cast<void>(input_of(bad)); }), "server.input"));
  }
}

TEST(FederationPlan, RefusesWhatMakesNoFederation) {
  const auto refusal = [](const std::string& config) {
    return error_of(ErrorCode::invalid_config,
                    [&] { static_cast<void>(read_federation_plan(parse_settings(config, "test"))); });
  };
  const std::string one = "[[algorithm]]\nname = 'fedavg'\n";
  EXPECT_TRUE(holds(refusal(one + one + "[server]\ninput = '2'\nclasses = 2"), "a federation runs one algorithm"));
  EXPECT_TRUE(holds(refusal("[[algorithm]]\nname = 'centralised'\n[server]\ninput = '2'\nclasses = 2"),
                    "centralised takes everybody's data"));
  const feroma::test::TempFolder visits;
  write_file_atomically(visits / "dataset.toml", std::string_view("[dataset]\nkind = 'csv'\nfile = 'visits.csv'\n"));
  const std::string own = fmt::format("[scenario]\ndataset = '{}'\n", visits.path().string());
  EXPECT_TRUE(holds(refusal(own + one + "[server]\nclasses = 2"), "server.input and server.classes must say"));
  EXPECT_TRUE(holds(refusal(one + "[server]\nquorums = 1"), "server.quorums"));
  EXPECT_TRUE(
      holds(refusal(one + "[server]\nclock = 0.5"), "test:4: server.clock is no key any more; make the times short"));
  EXPECT_TRUE(holds(refusal(one + "[server]\nupdate_limit = 0.5"), "server.update_limit must be 0 or > 1, got 0.5"));
  for (const char* mode : {"gaussian", "pure"}) {
    EXPECT_TRUE(holds(refusal(fmt::format("[privacy]\nmode = '{}'\n[training]\nstandardise = true\n", mode) + one),
                      fmt::format("training.standardise must be false for privacy.mode {}", mode)));
  }
  EXPECT_TRUE(holds(refusal("[privacy]\nmode = 'gaussian'\nnoise = 'seeded'\n" + one), "protects nothing"));
}

TEST(FederationPlan, RefusesAModelThatNoClientLoads) {
  const FederationPlan plan = plan_of("classes = 2\ninput = '2'", "[training]\nmodel = 'mine.pt'\n");
  ListenOptions listen;
  const std::string refusal = error_of(ErrorCode::invalid_config, [&] { check_model(plan, listen); });
  EXPECT_TRUE(holds(refusal, "training.model must be a name")) << refusal;
  EXPECT_TRUE(holds(refusal, "got \"mine.pt\"")) << refusal;
  listen.flower = FlowerOptions{};
  EXPECT_NO_THROW(check_model(plan, listen)) << "clients of Flower have a model of their own";
  listen.flower.reset();
  EXPECT_NO_THROW(check_model(plan_of("classes = 2\ninput = '2'"), listen));
}

// They would be read and never kept: clients come, go and lie by themselves.
TEST(FederationPlan, RefusesWhatOnlyASimulatorCanKeep) {
  const auto refusal = [](const std::string& table) {
    return error_of(ErrorCode::invalid_config,
                    [&] { static_cast<void>(plan_of("min_clients = 2", "rounds = 20\n" + table)); });
  };
  EXPECT_TRUE(holds(refusal("[membership]\ntest_only = 1\n"), "membership.test_only must be 0"));
  EXPECT_TRUE(holds(refusal("[evaluation]\nevery = 2\n"), "evaluation.every must be 0 or left out in a federation"));
  EXPECT_NO_THROW(static_cast<void>(plan_of("min_clients = 2", "[evaluation]\nevery = 0\n")));
  EXPECT_TRUE(holds(refusal("[membership]\ntest_only = 1\n"), "got 1"));
  EXPECT_TRUE(holds(refusal("[membership]\ndeparture_rate = 0.5\n"), "membership.departure_rate must be 0"));
  EXPECT_TRUE(holds(refusal("[membership]\nevents = '2:-0'\n"), "2:-0"));
  const std::string attack = refusal("[attack]\nkind = 'scale'\nclients = '1'\n");
  EXPECT_TRUE(holds(attack, "attack.kind must be"));
  EXPECT_TRUE(holds(attack, "attack.clients must be"));
  // As a config that was written out in full has them.
  const FederationPlan usual = plan_of("min_clients = 2", "[membership]\ninitial = 0\n[attack]\nkind = 'none'\n");
  EXPECT_EQ(usual.server.min_clients, 2);
  EXPECT_EQ(plan_of("min_clients = 2", "participation = 0.5\n").experiment.scenario.participation, 0.5);
}

TEST(FederationPlan, NamesEveryColumnOrNone) {
  EXPECT_TRUE(plan_of("classes = 2\ninput = '2'").columns.empty());
  EXPECT_EQ(plan_of("classes = 2\ninput = '2'\ncolumns = 'age, pressure'").columns,
            (std::vector<std::string>{"age", "pressure"}));
  const auto refusal = [](const std::string& columns) {
    return error_of(ErrorCode::invalid_config, [&] {
      static_cast<void>(plan_of(fmt::format("classes = 2\ninput = '2'\ncolumns = '{}'", columns)));
    });
  };
  EXPECT_TRUE(holds(refusal("age"), "server.columns must name the 2 values of a sample, got 1"));
  EXPECT_TRUE(holds(refusal("age, age"), "server.columns must differ, got \"age\" twice"));
}

}  // namespace
}  // namespace feroma
