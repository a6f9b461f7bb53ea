#include "feroma/algorithms/fedem.h"

#include <gtest/gtest.h>

#include <cmath>

#include "feroma/algorithms/components.h"
#include "tests/algorithms/toy_run.h"
#include "tests/algorithms/two_concepts.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::bits;
using test::constant_model;
using test::says;
using test::ToyRun;
using test::TwoConcepts;

/// FedEM and FedRC with the same number of components.
std::vector<std::unique_ptr<Algorithm>> both(int components) {
  std::vector<std::unique_ptr<Algorithm>> algorithms;
  algorithms.push_back(make_fedem({.components = components}));
  algorithms.push_back(make_fedrc({.components = components}));
  return algorithms;
}

TEST(FedEm, OneComponentIsFedAvgToTheBit) {
  const auto native = [](const ModelSpec& spec) { return make_engine(EngineKind::native, spec); };
  for (const test::MakeEngine& engine : {test::MakeEngine(test::make_toy_engine), test::MakeEngine(native)}) {
    ToyRun run(test::toy_scenario(), 1, engine);
    RoundLoop fedavg = run.loop("name = 'fedavg'");
    test::play_all(fedavg);
    for (const std::string name : {"fedem", "fedrc"}) {
      RoundLoop loop = run.loop("name = '" + name + "'\ncomponents = 1");
      test::play_all(loop);
      EXPECT_EQ(test::served_bits(loop.algorithm()), test::served_bits(fedavg.algorithm())) << name;
    }
  }
}

TEST(FedEm, FirstRoundsOfBothAreTheSame) {
  // Equal label priors drop out; rounding leaves a few last digits.
  TwoConcepts toy;
  TwoConcepts same;
  const auto algorithms = both(3);
  for (const auto& algorithm : algorithms) {
    algorithm->init(toy.server());
  }
  const Message em = toy.answer(*algorithms[0], 1, 0);
  const Message rc = same.answer(*algorithms[1], 1, 0);
  for (std::size_t m = 0; m < 3; ++m) {
    EXPECT_NEAR(em.floats("shares")[m], rc.floats("shares")[m], 1e-6);
    EXPECT_NEAR(em.model(model_key(m))->values()[5], rc.model(model_key(m))->values()[5], 1e-5);
  }
}

TEST(FedEm, SharesSumToOneAndAreAllThatAClientRemembers) {
  TwoConcepts toy;
  for (const auto& algorithm : both(3)) {
    toy.state(2) = {};
    algorithm->init(toy.server());
    const Message answer = toy.answer(*algorithm, 1, 2);
    const Floats& shares = answer.floats("shares");
    EXPECT_NEAR(shares[0] + shares[1] + shares[2], 1, 1e-6);
    EXPECT_EQ(toy.state(2).values.size(), 1U);
    EXPECT_EQ(toy.state(2).floats("shares"), shares);
  }
}

/// -sum ln sum_m share_m e^-loss_m, what the method minimises on one client.
double surprise(TwoConcepts& toy, const Models& models, std::span<const float> shares) {
  const auto losses = toy.trainer().losses(models, toy.view(0));
  double total = 0;
  for (std::size_t i = 0; i < toy.view(0).size(); ++i) {
    double likelihood = 0;
    for (std::size_t m = 0; m < models.size(); ++m) {
      likelihood += static_cast<double>(shares[m]) * std::exp(-losses[m][i]);
    }
    total -= std::log(likelihood);
  }
  return total;
}

TEST(FedEm, AStepNeverMakesTheDataLessLikely) {
  TwoConcepts toy;
  const auto algorithm = make_fedem({});
  ServerContext server = toy.server();
  server.fit = {1, 1000, 0.05, 0, MomentumReset::round};
  algorithm->init(server);
  double before = surprise(toy, models_in(algorithm->downlink(1, 0, ClientId{0}), 3), Floats(3, 1.0F / 3));
  for (Round round = 1; round <= 20; ++round) {
    const Message answer = toy.answer(*algorithm, round, 0);
    const double after = surprise(toy, models_in(answer, 3), answer.floats("shares"));
    EXPECT_LT(after, before) << round;
    before = after;
    test::deliver(*algorithm, 1, 0, {{ClientId{0}, answer}});
  }
}

/// Training changes the models, so an E-step after it would give other shares.
TEST(FedEm, SharesComeFromTheModelsAsReceived) {
  TwoConcepts toy;
  const auto algorithm = make_fedem({.components = 2});
  algorithm->init(toy.server());
  const Models models{says(toy.spec(), 0), constant_model(toy.spec(), 0)};
  // A tenth of the labels is 0. Loss 0 and 20 against ln 10 for all.
  const Message answer = toy.answer(*algorithm, 1, 0, message_of(models));
  EXPECT_NEAR(answer.floats("shares")[0], 0.1 * (1 / 1.1), 1e-4);
  EXPECT_NEAR(answer.floats("shares")[1], 0.1 * (0.1 / 1.1) + 0.9, 1e-4);
}

TEST(FedEm, AComponentThatExplainsNothingIsNotTrained) {
  TwoConcepts toy;
  toy.give(0, 0, [](std::int32_t label) { return label == 3; });
  const auto algorithm = make_fedem({.components = 2});
  algorithm->init(toy.server());
  toy.state(0).values["shares"] = Floats{1, 0};
  const Models models{says(toy.spec(), 3), says(toy.spec(), 4, 1e4F)};
  toy.trainer().passes() = {};
  const Message answer = toy.answer(*algorithm, 1, 0, message_of(models));
  EXPECT_EQ(answer.floats("shares")[1], 0);
  EXPECT_EQ(bits(answer.model(model_key(1))), bits(models[1]));
  EXPECT_EQ(toy.trainer().passes().backward, static_cast<std::int64_t>(2 * toy.view(0).size()));
}

/// It takes many rounds: at first the components share out the classes, each with some of both concepts.
TEST(FedEm, SeparatesTwoConcepts) {
  for (std::size_t which = 0; which < 2; ++which) {
    TwoConcepts toy;
    const auto algorithm = std::move(both(2)[which]);
    algorithm->init(toy.server());
    toy.play(*algorithm, 40);
    EXPECT_GT(toy.known_accuracy(*algorithm), 90) << which;
    EXPECT_LT(toy.accuracy(*algorithm, TestPolicy::cluster_expectation), 75) << which;
  }
}

/// How differently two halves of the clients use the components: 0 alike, 1 apart.
double distance_between_halves(const Algorithm& algorithm) {
  const ClusterView view = *algorithm.clusters();
  std::vector<double> difference(view.models.size());
  for (const auto& [client, shares] : view.shares) {
    for (std::size_t m = 0; m < shares.size(); ++m) {
      difference[m] += (to_index(client) < 3 ? shares[m] : -shares[m]) / 3;
    }
  }
  double sum = 0;
  for (const double d : difference) {
    sum += std::abs(d) / 2;
  }
  return sum;
}

/// One concept, but the first half of the clients has the classes 0 to 4 and the second half the others.
TEST(FedRc, KeepsClientsWithOtherLabelsTogether) {
  std::vector<double> apart;
  for (std::size_t which = 0; which < 2; ++which) {
    TwoConcepts toy;
    for (std::uint32_t client = 0; client < 6; ++client) {
      toy.give(client, 0, [&](std::int32_t label) { return (label < 5) == (client < 3); });
    }
    const auto algorithm = std::move(both(2)[which]);
    algorithm->init(toy.server());
    toy.play(*algorithm, 12);
    apart.push_back(distance_between_halves(*algorithm));
  }
  EXPECT_GT(apart[0], 0.8) << "FedEM tells the clients apart by their labels";
  EXPECT_LT(apart[1], 0.5 * apart[0]);
}

Message answer_with(const ModelSpec& spec, float value, Floats shares, std::int64_t examples) {
  const Models models(shares.size(), constant_model(spec, value));
  Message answer = message_of(models);
  answer.values["shares"] = std::move(shares);
  answer.values["num_examples"] = Ints{examples};
  return answer;
}

TEST(FedEm, AveragesByExamplesAndNotByShares) {
  const TwoConcepts toy;
  const auto algorithm = make_fedem({.components = 2});
  algorithm->init(toy.server());
  test::deliver(*algorithm, 1, 0,
                {{ClientId{0}, answer_with(toy.spec(), 1, {1, 0}, 30)},
                 {ClientId{1}, answer_with(toy.spec(), 5, {0.25F, 0.75F}, 10)}});
  EXPECT_FLOAT_EQ(algorithm->served()[0].model->values()[0], 2);
  EXPECT_FLOAT_EQ(algorithm->served()[1].model->values()[0], 2);
  EXPECT_EQ(algorithm->clusters()->shares.at(ClientId{1}), (std::vector<double>{0.25, 0.75}));
}

TEST(FedEm, AnAbsentClientKeepsItsSharesAlsoAfterLoading) {
  const TwoConcepts toy;
  const auto algorithm = make_fedem({.components = 2});
  algorithm->init(toy.server());
  test::deliver(*algorithm, 1, 0,
                {{ClientId{0}, answer_with(toy.spec(), 1, {1, 0}, 30)},
                 {ClientId{1}, answer_with(toy.spec(), 5, {0.25F, 0.75F}, 10)}});
  test::deliver(*algorithm, 1, 0, {{ClientId{0}, answer_with(toy.spec(), 1, {0.5F, 0.5F}, 30)}});
  const std::map<ClientId, std::vector<double>> shares{{ClientId{0}, {0.5, 0.5}}, {ClientId{1}, {0.25, 0.75}}};
  test::expect_view(*algorithm, shares, {ClientId{0}});
  const auto other = make_fedem({.components = 2});
  other->init(toy.server());
  test::copy_state(*algorithm, *other, toy.spec());
  test::expect_view(*other, shares, {ClientId{0}});
}

Floats label_counts(std::size_t components, std::size_t label, float count) {
  Floats mass(components * 10);
  mass[label] = count;
  return mass;
}

TEST(FedRc, PriorsAreTheLabelsOfEachComponent) {
  const TwoConcepts toy;
  for (const AbsentLabels absent : {AbsentLabels::forget, AbsentLabels::keep}) {
    const auto algorithm = make_fedrc({.components = 2, .absent_labels = absent});
    algorithm->init(toy.server());
    EXPECT_EQ(algorithm->downlink(1, 0, ClientId{0}).floats("label_priors"), Floats(20, 0.1F));
    Message first = answer_with(toy.spec(), 1, {1, 0}, 30);
    first.values["label_mass"] = label_counts(2, 4, 30);
    Message second = answer_with(toy.spec(), 1, {1, 0}, 10);
    second.values["label_mass"] = label_counts(2, 7, 10);
    test::deliver(*algorithm, 1, 0, {{ClientId{0}, first}, {ClientId{1}, second}});
    Floats priors = algorithm->downlink(2, 0, ClientId{0}).floats("label_priors");
    EXPECT_NEAR(priors[4], 0.75, 1e-6);
    EXPECT_NEAR(priors[7], 0.25, 1e-6);
    EXPECT_GT(priors[0], 0) << "no label is impossible";
    EXPECT_NEAR(priors[12], 0.1, 1e-6) << "a component without samples favours no label";
    test::deliver(*algorithm, 1, 0, {{ClientId{1}, second}});
    priors = algorithm->downlink(3, 0, ClientId{0}).floats("label_priors");
    EXPECT_NEAR(priors[4], absent == AbsentLabels::keep ? 0.75 : 0, 1e-6);
  }
}

TEST(FedEm, WrongAnswersAreRefused) {
  const TwoConcepts toy;
  const auto algorithm = make_fedrc({.components = 2});
  algorithm->init(toy.server());
  const auto refuses = [&](const Message& answer, std::string_view part) {
    expect_error(ErrorCode::invalid_data, part, [&] {
      test::deliver(*algorithm, 1, 0, {{ClientId{0}, answer}});
      return 0;
    });
  };
  refuses(answer_with(toy.spec(), 1, {2, -1}, 3), "shares must be >= 0, got -1");
  refuses(answer_with(toy.spec(), 1, {std::nanf(""), 1}, 3), "shares must be finite, got nan");
  refuses(answer_with(toy.spec(), 1, {0.5F, 0.25F}, 3), "shares must sum to 1, got 0.75");
  refuses(answer_with(toy.spec(), 1, {1}, 3), "[fedrc] client 0's model.1 must be a model, got nothing");
  Message answer = answer_with(toy.spec(), 1, {0.5F, 0.5F}, 3);
  answer.values["shares"] = Floats{1};
  refuses(answer, "[fedrc] client 0's shares must have 2 values, got 1");
  answer.values["shares"] = Floats{0.5F, 0.5F};
  refuses(answer, "label_mass must be numbers, got nothing");
  answer.values["label_mass"] = Floats(19);
  refuses(answer, "label_mass must have 20 values, got 19");
  answer.values["label_mass"] = Floats(20, -1.0F);
  refuses(answer, "label_mass must be >= 0, got -1");
}

TEST(FedEm, ReplacedDataOfAnotherSizeLeaveNoTrace) {
  TwoConcepts toy;
  for (const auto& algorithm : both(3)) {
    algorithm->init(toy.server());
    toy.play(*algorithm, 2);
    for (std::uint32_t client = 0; client < 6; ++client) {
      toy.give(client, 1, [](std::int32_t label) { return label > 6; });
    }
    toy.play(*algorithm, 6);
    EXPECT_GT(toy.known_accuracy(*algorithm), 90);
    toy.give(0, 1, [](std::int32_t) { return false; });
    toy.play(*algorithm, 1);  // a client without any data
    for (const ServedModel& served : algorithm->served()) {
      EXPECT_TRUE(served.model->all_finite());
    }
  }
}

TEST(FedEm, EveryOptionChangesSomething) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.participation = 0.5;
  ToyRun run(scenario);
  const auto after = [&](const std::string& options) {
    RoundLoop loop = run.loop(options);
    test::play_all(loop);
    return test::served_bits(loop.algorithm());
  };
  const auto em = after("name = 'fedem'");
  const auto rc = after("name = 'fedrc'");
  EXPECT_NE(em, rc);
  EXPECT_NE(after("name = 'fedem'\ncomponents = 2").size(), em.size());
  EXPECT_NE(after("name = 'fedem'\nmomentum_reset = 'epoch'"), em);
  EXPECT_NE(after("name = 'fedrc'\ncomponents = 2").size(), rc.size());
  EXPECT_NE(after("name = 'fedrc'\nmomentum_reset = 'epoch'"), rc);
  EXPECT_NE(after("name = 'fedrc'\nabsent_labels = 'keep'"), rc);
  EXPECT_NE(after("name = 'fedem'\nlearning_rate = 0.1"), em);
  EXPECT_NE(after("name = 'fedrc'\nlearning_rate = 0.1"), rc);
  EXPECT_EQ(after("name = 'fedem'\nlearning_rate = 0.2"), em) << "the training's own";
  expect_error(ErrorCode::invalid_config, "algorithm.0.absent_labels would be ignored: it needs components > 1",
               [&] { return after("name = 'fedrc'\ncomponents = 1\nabsent_labels = 'keep'").size(); });
  expect_error(ErrorCode::invalid_config, "components", [&] { return after("name = 'fedem'\ncomponents = 0").size(); });
}

}  // namespace
}  // namespace feroma
