#include "feroma/algorithms/ifca.h"

#include <gtest/gtest.h>

#include "tests/algorithms/toy_run.h"
#include "tests/algorithms/two_concepts.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::bits;
using test::constant_model;
using test::ToyRun;
using test::TwoConcepts;

Message chosen_cluster(ParametersPtr model, std::int64_t cluster, std::int64_t examples = 10) {
  return {{{"model", std::move(model)}, {"cluster", Ints{cluster}}, {"num_examples", Ints{examples}}}};
}

TEST(Ifca, OneClusterIsFedAvgToTheBit) {
  ToyRun run;
  RoundLoop ifca = run.loop("name = 'ifca'\nclusters = 1");
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  test::play_all(ifca);
  test::play_all(fedavg);
  EXPECT_EQ(test::served_bits(ifca.algorithm()), test::served_bits(fedavg.algorithm()));
  EXPECT_EQ(ifca.totals().passes.forward, fedavg.totals().passes.forward);
}

TEST(Ifca, AClientTrainsTheModelWithTheLowestLoss) {
  TwoConcepts toy;
  const auto algorithm = make_ifca({});
  algorithm->init(toy.server());
  for (std::uint32_t client = 0; client < 6; ++client) {
    std::size_t best = 0;
    double least = 1e9;
    for (std::size_t m = 0; m < 3; ++m) {
      const double loss = toy.trainer().evaluate(*algorithm->served()[m].model, toy.view(client)).loss();
      best = loss < least ? m : best;
      least = std::min(least, loss);
    }
    EXPECT_EQ(toy.answer(*algorithm, 1, client).integer("cluster"), static_cast<std::int64_t>(best));
    EXPECT_NEAR(toy.report.before.loss(), least, 1e-5) << "the chosen model is what training starts from";
  }
}

TEST(Ifca, EqualModelsAreChosenByNumber) {
  TwoConcepts toy;
  const auto algorithm = make_ifca({});
  algorithm->init(toy.server());
  const ParametersPtr same = constant_model(toy.spec(), 0);
  EXPECT_EQ(toy.answer(*algorithm, 1, 0, message_of(Models{same, same, same})).integer("cluster"), 0);
}

TEST(Ifca, ChosenModelsBecomeMeansAndOthersAreKeptOrZeroed) {
  const TwoConcepts toy;
  for (const EmptyCluster empty : {EmptyCluster::keep, EmptyCluster::zero}) {
    const auto algorithm = make_ifca({.empty = empty});
    algorithm->init(toy.server());
    const auto before = algorithm->served();
    test::deliver(*algorithm, 1, 0,
                  {{ClientId{0}, chosen_cluster(constant_model(toy.spec(), 1), 1, 30)},
                   {ClientId{4}, chosen_cluster(constant_model(toy.spec(), 5), 1, 10)}});
    const auto after = algorithm->served();
    EXPECT_FLOAT_EQ(after[1].model->values()[0], 3);
    for (const std::size_t m : {0U, 2U}) {
      const std::vector<float> zeros(before[m].model->size());
      EXPECT_EQ(bits(after[m].model), empty == EmptyCluster::keep ? bits(before[m].model) : zeros);
    }
    const ClusterView view = *algorithm->clusters();
    EXPECT_EQ(view.shares.size(), 2U);
    EXPECT_EQ(view.shares.at(ClientId{4}), (std::vector<double>{0, 1, 0}));
  }
}

TEST(Ifca, ThoseWhoChoseAModelMayWeighByExamples) {
  const TwoConcepts toy;
  const auto algorithm = make_ifca({.averaging = Averaging::examples});
  algorithm->init(toy.server());
  test::deliver(*algorithm, 1, 0,
                {{ClientId{0}, chosen_cluster(constant_model(toy.spec(), 1), 1, 30)},
                 {ClientId{4}, chosen_cluster(constant_model(toy.spec(), 5), 1, 10)}});
  EXPECT_FLOAT_EQ(algorithm->served()[1].model->values()[0], 2);
}

TEST(Ifca, AnAbsentClientKeepsItsClusterAlsoAfterLoading) {
  const TwoConcepts toy;
  const auto algorithm = make_ifca({});
  algorithm->init(toy.server());
  test::deliver(*algorithm, 1, 0,
                {{ClientId{0}, chosen_cluster(constant_model(toy.spec(), 1), 1)},
                 {ClientId{4}, chosen_cluster(constant_model(toy.spec(), 5), 2)}});
  test::deliver(*algorithm, 1, 0, {{ClientId{4}, chosen_cluster(constant_model(toy.spec(), 5), 0)}});
  test::expect_view(*algorithm, {{ClientId{0}, {0, 1, 0}}, {ClientId{4}, {1, 0, 0}}}, {ClientId{4}});
  const auto other = make_ifca({});
  other->init(toy.server());
  test::copy_state(*algorithm, *other, toy.spec());
  test::expect_view(*other, {{ClientId{0}, {0, 1, 0}}, {ClientId{4}, {1, 0, 0}}}, {ClientId{4}});
}

TEST(Ifca, ARoundInWhichEverybodyDroppedChangesNothing) {
  const TwoConcepts toy;
  const auto algorithm = make_ifca({.empty = EmptyCluster::zero});
  algorithm->init(toy.server());
  const auto before = test::served_bits(*algorithm);
  test::deliver(*algorithm, 1, 0, {});
  EXPECT_EQ(test::served_bits(*algorithm), before);
}

/// Once each model knows one concept a little, every client finds its own.
TEST(Ifca, AssignmentsAreTrueOnceTheModelsLeanTheRightWay) {
  TwoConcepts toy;
  const auto algorithm = make_ifca({.clusters = 2});
  algorithm->init(toy.server());
  Message first = toy.answer(*algorithm, 1, 0);
  Message last = toy.answer(*algorithm, 1, 5);
  first.values["cluster"] = Ints{0};
  last.values["cluster"] = Ints{1};
  test::deliver(*algorithm, 1, 0, {{ClientId{0}, first}, {ClientId{5}, last}});
  toy.play(*algorithm, 1);
  const ClusterView view = *algorithm->clusters();
  for (std::uint32_t client = 0; client < 6; ++client) {
    const std::vector<double> own = client < 3 ? std::vector<double>{1, 0} : std::vector<double>{0, 1};
    EXPECT_EQ(view.shares.at(static_cast<ClientId>(client)), own);
  }
}

TEST(Ifca, SeparatesTwoConcepts) {
  TwoConcepts toy;
  const auto ifca = make_ifca({});
  ifca->init(toy.server());
  toy.play(*ifca, 8);
  EXPECT_GT(toy.known_accuracy(*ifca), 90);
  const auto one = make_ifca({.clusters = 1});
  one->init(toy.server());
  toy.play(*one, 8);
  EXPECT_LT(toy.known_accuracy(*one), 65);
}

TEST(Ifca, WrongAnswersAreRefused) {
  const TwoConcepts toy;
  const auto algorithm = make_ifca({});
  algorithm->init(toy.server());
  for (const std::int64_t cluster : {-1, 3}) {
    expect_error(ErrorCode::invalid_data, "[ifca] client 0's cluster must be in 0..2", [&] {
      test::deliver(*algorithm, 1, 0, {{ClientId{0}, chosen_cluster(constant_model(toy.spec(), 1), cluster)}});
      return 0;
    });
  }
}

TEST(Ifca, EveryOptionChangesSomething) {
  ToyRun run;
  const auto after = [&](const std::string& options) {
    RoundLoop loop = run.loop("name = 'ifca'\n" + options);
    test::play_all(loop);
    return test::served_bits(loop.algorithm());
  };
  const auto plain = after("");
  EXPECT_NE(after("clusters = 2").size(), plain.size());
  EXPECT_NE(after("momentum_reset = 'epoch'"), plain);
  EXPECT_NE(after("learning_rate = 0.1"), plain);
  EXPECT_EQ(after("learning_rate = 0.2"), plain) << "the training's own";
  expect_error(ErrorCode::invalid_config, "algorithm.0.empty would be ignored: it needs clusters > 1",
               [&] { return after("clusters = 1\nempty = 'zero'").size(); });
  expect_error(ErrorCode::invalid_config, "algorithm.0.clusters", [&] { return after("clusters = 0").size(); });
}

}  // namespace
}  // namespace feroma
