#include "feroma/algorithms/fesem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/algorithms/lenet_cost.h"
#include "tests/algorithms/toy_run.h"
#include "tests/algorithms/two_concepts.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::bits;
using test::constant_model;
using test::ToyRun;
using test::TwoConcepts;

Message chosen(ParametersPtr model, std::int64_t cluster, std::int64_t examples = 10) {
  return {{{"model", std::move(model)}, {"cluster", Ints{cluster}}, {"num_examples", Ints{examples}}}};
}
Message trained(ParametersPtr model, std::int64_t examples = 10) {
  return {{{"model", std::move(model)}, {"num_examples", Ints{examples}}}};
}

std::size_t cluster_of(const Algorithm& algorithm, ClientId client) {
  const ClusterView view = *algorithm.clusters();
  const std::vector<double>& shares = view.shares.at(client);
  return static_cast<std::size_t>(std::find(shares.begin(), shares.end(), 1.0) - shares.begin());
}

double squared(const ParametersPtr& a, const ParametersPtr& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a->size(); ++i) {
    const double d = static_cast<double>(a->values()[i]) - static_cast<double>(b->values()[i]);
    sum += d * d;
  }
  return sum;
}

/// Centres at 0, 1 and 4; clients 0, 1 and 2 are in one cluster each.
std::unique_ptr<Algorithm> with_three_centres(const TwoConcepts& toy, FesemOptions options) {
  options.centre_start = CentreStart::apart;
  auto algorithm = make_fesem(options);
  algorithm->init(toy.server());
  test::deliver(*algorithm, 1, 0,
                {{ClientId{0}, chosen(constant_model(toy.spec(), 0), 0)},
                 {ClientId{1}, chosen(constant_model(toy.spec(), 1), 1)},
                 {ClientId{2}, chosen(constant_model(toy.spec(), 4), 2)}});
  return algorithm;
}

TEST(Fesem, OneCentreIsFedAvgToTheBit) {
  ToyRun run;
  RoundLoop fesem = run.loop("name = 'fesem'\nclusters = 1");
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  test::play_all(fesem);
  test::play_all(fedavg);
  EXPECT_EQ(test::served_bits(fesem.algorithm()), test::served_bits(fedavg.algorithm()));
  EXPECT_EQ(fesem.totals().bytes_down, fedavg.totals().bytes_down);
  EXPECT_EQ(fesem.totals().bytes_up, fedavg.totals().bytes_up);
}

/// Which clients changed their cluster after the first of some rounds, and how often in all.
int moves_in(TwoConcepts& toy, Algorithm& algorithm, int rounds, std::uint32_t clients = 6) {
  int moves = 0;
  toy.play(algorithm, 1);
  for (int round = 2; round <= rounds; ++round) {
    std::vector<std::size_t> before;
    for (std::uint32_t client = 0; client < clients; ++client) {
      before.push_back(cluster_of(algorithm, static_cast<ClientId>(client)));
    }
    toy.play(algorithm, 1);
    for (std::uint32_t client = 0; client < clients; ++client) {
      moves += cluster_of(algorithm, static_cast<ClientId>(client)) != before[client] ? 1 : 0;
    }
  }
  return moves;
}

TEST(Fesem, BeginsWithOneModelAndRandomGroups) {
  TwoConcepts toy;
  const auto algorithm = make_fesem({});
  algorithm->init(toy.server());
  std::map<ClientId, Message> answers;
  for (std::uint32_t client = 0; client < 6; ++client) {
    const Message task = algorithm->downlink(1, 0, static_cast<ClientId>(client));
    EXPECT_EQ(bits(task.model("model")), bits(toy.server().initial));
    EXPECT_EQ(task.values.size(), 1U);
    answers[static_cast<ClientId>(client)] =
        trained(constant_model(toy.spec(), static_cast<float>(client)), 10 + 7 * client);
  }
  test::deliver(*algorithm, 1, 0, answers);
  std::vector<std::vector<float>> members(3);
  for (std::uint32_t client = 0; client < 6; ++client) {
    members[cluster_of(*algorithm, static_cast<ClientId>(client))].push_back(static_cast<float>(client));
  }
  for (std::size_t m = 0; m < 3; ++m) {
    ASSERT_EQ(members[m].size(), 2U) << "groups are as large as one another";
    EXPECT_FLOAT_EQ(algorithm->served()[m].model->values()[0], (members[m][0] + members[m][1]) / 2)
        << "uniform, whatever the examples";
  }
  EXPECT_EQ(algorithm->downlink(2, 0, ClientId{17}).values.size(), 3U) << "a newcomer gets all centres";
}

// With centres that start apart k-means has nothing to do, so that even the rule for who moves changes no bit.
TEST(Fesem, ClientsMoveBetweenCentresThatCameFromOneModel) {
  const auto play = [](FesemOptions options) {
    TwoConcepts toy;
    options.clusters = 2;
    const auto algorithm = make_fesem(options);
    algorithm->init(toy.server());
    const int moves = moves_in(toy, *algorithm, 6);
    return std::pair(moves, test::served_bits(*algorithm));
  };
  const auto [moves, served] = play({});
  EXPECT_GT(moves, 0);
  EXPECT_NE(play({.moved = MovedClient::untrained}).second, served);
  const auto [apart, stayed] = play({.centre_start = CentreStart::apart});
  EXPECT_EQ(apart, 0);
  EXPECT_EQ(play({.moved = MovedClient::untrained, .centre_start = CentreStart::apart}).second, stayed);
}

TEST(Fesem, SeparatesTwoConcepts) {
  TwoConcepts toy;
  const auto algorithm = make_fesem({.clusters = 2});
  algorithm->init(toy.server());
  toy.play(*algorithm, 10);
  for (std::uint32_t client = 0; client < 6; ++client) {
    EXPECT_EQ(cluster_of(*algorithm, static_cast<ClientId>(client)),
              cluster_of(*algorithm, ClientId{client < 3 ? 0U : 5U}));
  }
  EXPECT_GT(toy.known_accuracy(*algorithm), 90);
}

TEST(Fesem, ModelsNearACentreMayWeighByExamples) {
  const TwoConcepts toy;
  const auto algorithm = with_three_centres(toy, {.averaging = Averaging::examples});
  test::deliver(*algorithm, 1, 0,
                {{ClientId{0}, trained(constant_model(toy.spec(), 3), 30)},
                 {ClientId{1}, trained(constant_model(toy.spec(), 5), 10)}});
  EXPECT_FLOAT_EQ(algorithm->served()[2].model->values()[0], 3.5F);
}

TEST(Fesem, AClientNobodyKnowsChoosesByLossAndGetsOneCentreFromThenOn) {
  TwoConcepts toy;
  const auto algorithm = make_fesem({.centre_start = CentreStart::apart});
  algorithm->init(toy.server());
  const Models centres = models_in(algorithm->downlink(1, 0, ClientId{0}), 3);
  std::vector<double> losses;
  for (const ParametersPtr& centre : centres) {
    losses.push_back(toy.trainer().evaluate(*centre, toy.view(0)).loss());
  }
  const Message answer = toy.answer(*algorithm, 1, 0);
  EXPECT_EQ(answer.integer("cluster"), static_cast<std::int64_t>(lowest(losses)));
  test::deliver(*algorithm, 1, 0, {{ClientId{0}, answer}});
  EXPECT_EQ(cluster_of(*algorithm, ClientId{0}), lowest(losses));
  const Message next = algorithm->downlink(2, 0, ClientId{0});
  EXPECT_EQ(next.model("model"), algorithm->served()[lowest(losses)].model);
  EXPECT_EQ(next.values.size(), 1U);
  EXPECT_FALSE(toy.answer(*algorithm, 2, 0, next).has("cluster"));
  EXPECT_EQ(algorithm->downlink(2, 0, ClientId{1}).values.size(), 3U) << "a newcomer gets all centres";
}

TEST(Fesem, AFirstRoundMayTrainAllCentresAndKeepTheBest) {
  TwoConcepts toy;
  const auto algorithm = make_fesem({.first_round = FirstRound::all, .centre_start = CentreStart::apart});
  algorithm->init(toy.server());
  const Models centres = models_in(algorithm->downlink(1, 0, ClientId{0}), 3);
  Models trained_apart;
  std::vector<double> losses;
  for (const ParametersPtr& centre : centres) {
    Parameters params = centre->clone();
    toy.trainer().fit(params, toy.view(0), toy.server().fit, Rng(9).derive("client", 0, 1).derive("train"));
    losses.push_back(toy.trainer().evaluate(params, toy.view(0)).loss());
    trained_apart.push_back(share(std::move(params)));
  }
  toy.trainer().passes() = {};
  const Message answer = toy.answer(*algorithm, 1, 0);
  const auto samples = static_cast<std::int64_t>(toy.view(0).size());
  EXPECT_EQ(toy.trainer().passes().backward, 3 * 2 * samples);
  EXPECT_EQ(answer.integer("cluster"), static_cast<std::int64_t>(lowest(losses)));
  EXPECT_EQ(bits(answer.model("model")), bits(trained_apart[lowest(losses)]));
  EXPECT_EQ(answer.integer("num_examples"), samples);
  test::deliver(*algorithm, 1, 0, {{ClientId{0}, answer}});
  EXPECT_EQ(cluster_of(*algorithm, ClientId{0}), lowest(losses));
  toy.trainer().passes() = {};
  EXPECT_FALSE(toy.answer(*algorithm, 2, 0).has("cluster"));
  EXPECT_EQ(toy.trainer().passes().backward, 2 * samples) << "one centre from then on";
}

TEST(Fesem, AClientGoesToTheCentreNearestToItsModel) {
  TwoConcepts toy;
  const auto algorithm = with_three_centres(toy, {.averaging = Averaging::examples});
  toy.play(*algorithm, 1);  // clients 3 to 5 join by loss
  Rng rng(5);
  const auto centres = algorithm->served();
  std::map<ClientId, Message> answers;
  for (std::uint32_t client = 0; client < 6; ++client) {
    Parameters params(make_layout(toy.spec()));
    for (float& value : params.values()) {
      value = static_cast<float>(rng.uniform(-1, 5));
    }
    answers[static_cast<ClientId>(client)] = trained(share(std::move(params)), 10 + client);
  }
  const auto sent = answers;
  test::deliver(*algorithm, 1, 0, answers);
  const auto moved = algorithm->served();
  double before = 0;
  double assigned = 0;
  double after = 0;
  std::vector<std::vector<double>> pull(3, std::vector<double>(centres[0].model->size()));
  for (const auto& [client, answer] : sent) {
    std::vector<double> distances;
    for (const ServedModel& centre : centres) {
      distances.push_back(squared(answer.model("model"), centre.model));
    }
    const std::size_t cluster = cluster_of(*algorithm, client);
    EXPECT_EQ(cluster, lowest(distances));
    const auto examples = static_cast<double>(answer.integer("num_examples"));
    before += examples * distances.front();
    assigned += examples * distances[cluster];
    after += examples * squared(answer.model("model"), moved[cluster].model);
    for (std::size_t i = 0; i < pull[cluster].size(); ++i) {
      pull[cluster][i] += examples * (static_cast<double>(answer.model("model")->values()[i]) -
                                      static_cast<double>(moved[cluster].model->values()[i]));
    }
  }
  // An E-step and an M-step each bring the centres nearer to the models, and no other centres would be nearer.
  EXPECT_LE(assigned, before);
  EXPECT_LT(after, assigned);
  for (const auto& cluster : pull) {
    for (const double value : cluster) {
      EXPECT_NEAR(value, 0, 1e-4);
    }
  }
}

TEST(Fesem, AnEmptyCentreIsKeptOrZeroed) {
  const TwoConcepts toy;
  for (const EmptyCluster empty : {EmptyCluster::keep, EmptyCluster::zero}) {
    const auto algorithm = with_three_centres(toy, {.empty = empty});
    test::deliver(*algorithm, 1, 0, {{ClientId{0}, trained(constant_model(toy.spec(), 0.1F))}});
    EXPECT_EQ(algorithm->served()[0].model->values()[0], 0.1F);
    EXPECT_EQ(algorithm->served()[2].model->values()[0], empty == EmptyCluster::keep ? 4.0F : 0.0F);
  }
}

TEST(Fesem, AnAbsentClientKeepsItsClusterAlsoAfterLoading) {
  const TwoConcepts toy;
  const auto algorithm = with_three_centres(toy, {});
  test::deliver(*algorithm, 1, 0, {{ClientId{1}, trained(constant_model(toy.spec(), 3.9F))}});
  const std::map<ClientId, std::vector<double>> shares{
      {ClientId{0}, {1, 0, 0}}, {ClientId{1}, {0, 0, 1}}, {ClientId{2}, {0, 0, 1}}};
  test::expect_view(*algorithm, shares, {ClientId{1}});
  const auto other = make_fesem({});
  other->init(toy.server());
  test::copy_state(*algorithm, *other, toy.spec());
  test::expect_view(*other, shares, {ClientId{1}});
}

TEST(Fesem, AClientThatMovesBringsItsTrainingOrLosesIt) {
  const TwoConcepts toy;
  const std::map<ClientId, Message> answers{{ClientId{0}, trained(constant_model(toy.spec(), 0.9F))},
                                            {ClientId{1}, trained(constant_model(toy.spec(), 1.2F))}};
  const auto keeps = with_three_centres(toy, {});
  test::deliver(*keeps, 1, 0, answers);
  EXPECT_EQ(cluster_of(*keeps, ClientId{0}), 1U);
  EXPECT_NEAR(keeps->served()[1].model->values()[0], (0.9 + 1.2) / 2, 1e-6);
  const auto loses = with_three_centres(toy, {.moved = MovedClient::untrained});
  test::deliver(*loses, 1, 0, answers);
  EXPECT_EQ(cluster_of(*loses, ClientId{0}), 1U);
  EXPECT_NEAR(loses->served()[1].model->values()[0], (1.0 + 1.2) / 2, 1e-6);
}

/// From the client, one centre is 1.7 away in one tensor, the other 1 in each of two: squared 2.89 against 2, summed by
/// tensor 1.7 against 2.
TEST(Fesem, DistancesAreSquaredOrSummedByTensor) {
  const TwoConcepts toy;
  const auto sparse = [&](float weight, float bias) {
    Parameters params(make_layout(toy.spec()));
    params.segment(0)[0] = weight;
    params.segment(1)[0] = bias;
    return share(std::move(params));
  };
  for (const CentreDistance distance : {CentreDistance::squared, CentreDistance::tensor_norms}) {
    const auto algorithm = make_fesem({.clusters = 2, .distance = distance, .centre_start = CentreStart::apart});
    algorithm->init(toy.server());
    test::deliver(*algorithm, 1, 0,
                  {{ClientId{0}, chosen(sparse(1.7F, 0), 0)}, {ClientId{1}, chosen(sparse(1, 1), 1)}});
    test::deliver(*algorithm, 1, 0, {{ClientId{0}, trained(sparse(0, 0))}});
    EXPECT_EQ(cluster_of(*algorithm, ClientId{0}), distance == CentreDistance::squared ? 1U : 0U);
  }
}

TEST(Fesem, BuffersDoNotCountInSquaredDistances) {
  ModelSpec spec{"norm", {1, 4, 4}, 10, {BatchNorm{"bn"}, Flatten{}, Linear{"fc", 10}}};
  ServerContext server;
  server.model = spec;
  server.initial = share(initialise(spec, Rng(1)));
  const auto filled = [&](float learned, float buffer) {
    Parameters params(make_layout(spec));
    for (std::size_t s = 0; s < params.layout().segments.size(); ++s) {
      const bool is_buffer = params.layout().segments[s].kind == SegmentKind::buffer;
      std::fill(params.segment(s).begin(), params.segment(s).end(), is_buffer ? buffer : learned);
    }
    return share(std::move(params));
  };
  for (const CentreDistance distance : {CentreDistance::squared, CentreDistance::tensor_norms}) {
    const auto algorithm = make_fesem({.clusters = 2, .distance = distance, .centre_start = CentreStart::apart});
    algorithm->init(server);
    test::deliver(*algorithm, 1, 0,
                  {{ClientId{0}, chosen(filled(0, 0), 0)}, {ClientId{1}, chosen(filled(1, 1000), 1)}});
    test::deliver(*algorithm, 1, 0, {{ClientId{0}, trained(filled(0.1F, 1000))}});
    EXPECT_EQ(cluster_of(*algorithm, ClientId{0}), distance == CentreDistance::squared ? 0U : 1U);
  }
}

TEST(Fesem, TheProximalTermHoldsAClientBack) {
  TwoConcepts toy;
  const auto way = [&](double proximal) {
    const auto algorithm = make_fesem({.clusters = 1, .proximal = proximal});
    ServerContext server = toy.server();
    server.fit.momentum = 0;
    algorithm->init(server);
    return squared(toy.answer(*algorithm, 1, 0).model("model"), server.initial);
  };
  EXPECT_LT(way(0.5), 0.8 * way(0));
  EXPECT_LT(way(1), way(0.5));
}

/// One step from the centre has no pull. The second has 2 * weight * (where it is - centre) more, times a rate of 0.5.
TEST(Fesem, TheProximalGradientIsTwiceTheWeightTimesTheDistance) {
  TwoConcepts toy;
  const auto after_two_steps = [&](double proximal) {
    const auto algorithm = make_fesem({.clusters = 1, .proximal = proximal});
    ServerContext server = toy.server();
    server.fit = {2, 64, 0.5, 0, MomentumReset::round};
    algorithm->init(server);
    return toy.answer(*algorithm, 1, 0).model("model");
  };
  const auto after_one_step = [&] {
    const auto algorithm = make_fesem({.clusters = 1});
    ServerContext server = toy.server();
    server.fit = {1, 64, 0.5, 0, MomentumReset::round};
    algorithm->init(server);
    return toy.answer(*algorithm, 1, 0).model("model");
  };
  const ParametersPtr start = toy.server().initial;
  const ParametersPtr one = after_one_step();
  const ParametersPtr free = after_two_steps(0);
  const ParametersPtr held = after_two_steps(0.25);
  for (std::size_t i = 0; i < start->size(); ++i) {
    EXPECT_NEAR(free->values()[i] - held->values()[i], 0.25F * (one->values()[i] - start->values()[i]), 1e-6);
  }
}

TEST(Fesem, WrongAnswersAreRefused) {
  const TwoConcepts toy;
  const auto algorithm = make_fesem({.centre_start = CentreStart::apart});
  algorithm->init(toy.server());
  const auto refuses = [&](const Message& answer, std::string_view part) {
    expect_error(ErrorCode::invalid_data, part, [&] {
      test::deliver(*algorithm, 1, 0, {{ClientId{0}, answer}});
      return 0;
    });
  };
  refuses(chosen(constant_model(toy.spec(), 1), 3), "[fesem] client 0's cluster must be in 0..2, got 3");
  refuses(trained(constant_model(toy.spec(), 1)), "cluster must be whole numbers, got nothing");
  refuses(chosen(constant_model(toy.spec(), std::numeric_limits<float>::quiet_NaN()), 1), "must be finite");
}

TEST(Fesem, TheFirstRoundCostsWhatFedAvgDoes) {
  const auto algorithm = make_fesem({});
  const test::RoundCost first = test::lenet_cost(*algorithm);
  EXPECT_EQ(first.bytes_down, test::kLeNetBytes);
  EXPECT_EQ(first.bytes_up, test::kLeNetBytes + 8);
  EXPECT_EQ(first.passes.forward, 2 * test::kCostSamples);
}

TEST(Fesem, TheFirstRoundSendsEveryCentreThatBeganApart) {
  const auto algorithm = make_fesem({.centre_start = CentreStart::apart});
  const test::RoundCost first = test::lenet_cost(*algorithm);
  EXPECT_EQ(first.bytes_down, 3 * test::kLeNetBytes);
  EXPECT_EQ(first.bytes_up, test::kLeNetBytes + 8 + 8);
  EXPECT_EQ(first.passes.forward, (3 + 2) * test::kCostSamples);
}

TEST(Fesem, WorksWithAFewClientsARoundAndNewcomers) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.participation = 0.5;
  ToyRun run(scenario);
  RoundLoop loop = run.loop("name = 'fesem'");
  test::play_all(loop);
  EXPECT_EQ(loop.algorithm().clusters()->present.size(), 3U);
  EXPECT_EQ(loop.algorithm().clusters()->shares.size(), 6U) << "each has been here once";
  EXPECT_GT(loop.evaluate().accuracy, 0);
}

TEST(Fesem, EveryOptionChangesSomething) {
  ToyRun run;
  const auto after = [&](const std::string& options) {
    RoundLoop loop = run.loop("name = 'fesem'\n" + options);
    test::play_all(loop);
    return test::served_bits(loop.algorithm());
  };
  const auto plain = after("");
  EXPECT_NE(after("clusters = 2").size(), plain.size());
  EXPECT_NE(after("momentum_reset = 'epoch'"), plain);
  EXPECT_NE(after("proximal = 0.1"), plain);
  EXPECT_NE(after("centre_start = 'apart'"), plain);
  EXPECT_NE(after("learning_rate = 0.1"), plain);
  EXPECT_EQ(after("learning_rate = 0.2"), plain) << "the training's own";
  for (const std::string option :
       {"empty = 'zero'", "distance = 'tensor_norms'", "moved = 'untrained'", "first_round = 'all'"}) {
    expect_error(ErrorCode::invalid_config, "would be ignored: it needs clusters > 1",
                 [&] { return after("clusters = 1\n" + option).size(); });
  }
}

}  // namespace
}  // namespace feroma
