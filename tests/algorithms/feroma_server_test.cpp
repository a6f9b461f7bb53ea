// Feroma's server against messages made by hand.
#include "tests/algorithms/feroma_server.h"

#include <gtest/gtest.h>

namespace feroma {
namespace {

using test::ServerTest;

TEST_F(ServerTest, WarmUpAveragesByExamples) {
  start();
  answer(1, 0, {{ClientId{0}, trained(1, 30)}, {ClientId{1}, trained(5, 10)}});
  EXPECT_FLOAT_EQ(algorithm->served()[0].model->values()[0], 2);
}

TEST_F(ServerTest, AReceiverGetsTheModelOfTheProfileNearestToItsOwn) {
  options.counts = Counts::none;
  start();
  answer(1, 0, {{ClientId{0}, trained(0)}});
  answer(2, 0, {{ClientId{0}, profiled(0)}, {ClientId{1}, profiled(8)}});
  answer(2, 1, {{ClientId{0}, trained(1)}, {ClientId{1}, trained(2)}});
  answer(3, 0, {{ClientId{0}, profiled(8)}, {ClientId{1}, profiled(0)}, {ClientId{2}, profiled(8)}});
  EXPECT_NEAR(sent_to(3, 0), 2, 1e-6);
  EXPECT_NEAR(sent_to(3, 1), 1, 1e-6);
  EXPECT_NEAR(sent_to(3, 2), 2, 1e-6);  // a client that was never seen before
  EXPECT_EQ(sent_to(3, 3), 0);          // one without a profile gets the warm-up's model
}

// What such a client learns is nobody's parent: it is of data that nothing is known of.
TEST_F(ServerTest, AClientThatMakesNoProfilesGetsTheMeanOfAll) {
  const Message unprofiled{{{"unprofiled", Ints{1}}}};
  start();
  answer(1, 0, {{ClientId{0}, trained(4)}, {ClientId{1}, trained(4)}});
  answer(2, 0, {{ClientId{0}, unprofiled}, {ClientId{1}, unprofiled}});
  EXPECT_EQ(sent_to(2, 0), 4) << "nobody has a profile: everybody gets the one model";
  answer(2, 1, {{ClientId{0}, trained(6, 30)}, {ClientId{1}, trained(2, 10)}});
  EXPECT_FLOAT_EQ(algorithm->served()[0].model->values()[0], 5) << "and learns it together";
  answer(3, 0, {{ClientId{0}, profiled(0)}, {ClientId{1}, profiled(8)}, {ClientId{2}, unprofiled}});
  answer(3, 1, {{ClientId{0}, trained(1)}, {ClientId{1}, trained(2)}, {ClientId{2}, trained(90)}});
  EXPECT_EQ(algorithm->served().size(), 2U);
  answer(4, 0, {{ClientId{0}, profiled(0)}, {ClientId{2}, unprofiled}});
  EXPECT_NEAR(sent_to(4, 0), 1, 1e-6);
  EXPECT_NEAR(sent_to(4, 2), 1.5, 1e-6);
  EXPECT_EQ(algorithm->trace()->receivers, std::vector<ClientId>{ClientId{0}});
}

TEST_F(ServerTest, WhatIsKnownStaysWhereNobodyWithAProfileAnswers) {
  options.counts = Counts::none;
  start();
  answer(1, 0, {{ClientId{0}, trained(0)}});
  answer(2, 0, {{ClientId{0}, profiled(0)}, {ClientId{1}, profiled(8)}});
  answer(2, 1, {{ClientId{0}, trained(1)}, {ClientId{1}, trained(2)}});
  answer(3, 0, {{ClientId{0}, profiled(0)}, {ClientId{2}, {{{"unprofiled", Ints{1}}}}}});
  answer(3, 1, {{ClientId{2}, trained(90)}});
  EXPECT_EQ(algorithm->served().size(), 2U);
  answer(4, 0, {{ClientId{0}, profiled(8)}});
  EXPECT_NEAR(sent_to(4, 0), 2, 1e-6);
}

TEST_F(ServerTest, AShareOfEveryModelIsTheMeanOfAll) {
  options.counts = Counts::none;
  options.global_share = 0.6;
  start();
  answer(1, 0, {{ClientId{0}, trained(0)}});
  answer(2, 0, {{ClientId{0}, profiled(0)}, {ClientId{1}, profiled(8)}});
  answer(2, 1, {{ClientId{0}, trained(1)}, {ClientId{1}, trained(2)}});
  answer(3, 0, {{ClientId{0}, profiled(8)}, {ClientId{1}, profiled(0)}});
  EXPECT_NEAR(sent_to(3, 0), 0.4 * 2 + 0.6 * 1.5, 1e-6);
  EXPECT_NEAR(sent_to(3, 1), 0.4 * 1 + 0.6 * 1.5, 1e-6);
  EXPECT_EQ(algorithm->trace()->strategies[0], Strategy::personal) << "by what its profile chose";
}

// One of three sends nonsense: the median of the others is what everybody gets, in the warm-up and after it.
TEST_F(ServerTest, ARobustFoldBearsALiar) {
  options.counts = Counts::none;
  options.kernel = Kernel::uniform;
  options.fold = Fold::median;
  start();
  answer(1, 0, {{ClientId{0}, trained(1)}, {ClientId{1}, trained(2)}, {ClientId{2}, trained(-1000)}});
  EXPECT_FLOAT_EQ(algorithm->served()[0].model->values()[0], 1);
  answer(2, 0, {{ClientId{0}, profiled(0)}, {ClientId{1}, profiled(0)}, {ClientId{2}, profiled(0)}});
  answer(2, 1, {{ClientId{0}, trained(3)}, {ClientId{1}, trained(4)}, {ClientId{2}, trained(1e6F)}});
  answer(3, 0, {{ClientId{0}, profiled(0)}, {ClientId{7}, profiled(0)}});
  EXPECT_FLOAT_EQ(sent_to(3, 7), 4);
  EXPECT_FLOAT_EQ(sent_to(3, 0), 3) << "among so few a client is safe only with its own";
}

// The median client has ten examples, and that is what a claim of a million is worth.
TEST_F(ServerTest, ALiarGainsNothingFromExamplesItDoesNotHave) {
  options.kernel = Kernel::uniform;
  options.fold = Fold::median;
  start();
  answer(1, 0, {{ClientId{0}, trained(1)}, {ClientId{1}, trained(2)}, {ClientId{2}, trained(900, 1'000'000)}});
  EXPECT_FLOAT_EQ(algorithm->served()[0].model->values()[0], 2);
  answer(2, 0, {{ClientId{0}, profiled(0)}, {ClientId{1}, profiled(0)}, {ClientId{2}, profiled(0)}});
  answer(2, 1, {{ClientId{0}, trained(3)}, {ClientId{1}, trained(4)}, {ClientId{2}, trained(900, 1'000'000)}});
  answer(3, 0, {{ClientId{0}, profiled(0)}, {ClientId{7}, profiled(0)}});
  EXPECT_FLOAT_EQ(sent_to(3, 7), 4);
  EXPECT_FLOAT_EQ(sent_to(3, 0), 3) << "among so few a client is safe only with its own";
}

// One client's latent_max would make the cube so large that all samples look alike in it, for everybody and for good.
TEST_F(ServerTest, RefusesExtremesThatWouldDecideForAll) {
  options.projection = Projection::pca_cube;
  start();
  const auto with_latent_max = [](float value) {
    Message message = trained(1);
    message.values["latent_max"] = Floats{value};
    return message;
  };
  const std::map<ClientId, Message> answers{
      {ClientId{0}, with_latent_max(2)}, {ClientId{1}, with_latent_max(3)}, {ClientId{2}, with_latent_max(1e17F)}};
  const auto refused = algorithm->refusals(1, 0, answers);
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_NE(refused.at(ClientId{2}).find("client 2's latent_max"), std::string::npos) << refused.at(ClientId{2});
}

// Updates are measured from what each was sent: the mixture of its own distribution, in the warm-up the global model.
TEST_F(ServerTest, RefusesUpdatesBeyondTheLimit) {
  options.counts = Counts::none;
  options.norm_limit = 3;
  start();
  const auto refused = [this](Round round, int phase, const std::map<ClientId, Message>& answers) {
    std::vector<std::uint32_t> clients;
    for (const auto& [client, reason] : algorithm->refusals(round, phase, answers)) {
      clients.push_back(to_index(client));
    }
    return clients;
  };
  using Clients = std::vector<std::uint32_t>;
  const std::map<ClientId, Message> warm{
      {ClientId{0}, trained(1)}, {ClientId{1}, trained(2)}, {ClientId{2}, trained(-9)}};
  EXPECT_EQ(refused(1, 0, warm), Clients{2});
  answer(1, 0, {{ClientId{0}, trained(1)}});
  const std::map<ClientId, Message> profiles{
      {ClientId{0}, profiled(0)}, {ClientId{1}, profiled(800)}, {ClientId{2}, profiled(800)}};
  EXPECT_EQ(refused(2, 0, profiles), Clients{}) << "profiles have no length";
  answer(2, 0, profiles);
  answer(2, 1, {{ClientId{0}, trained(1)}, {ClientId{1}, trained(100)}, {ClientId{2}, trained(100)}});
  answer(3, 0, profiles);
  EXPECT_EQ(refused(3, 1, {{ClientId{0}, trained(2)}, {ClientId{1}, trained(101)}, {ClientId{2}, trained(102)}}),
            Clients{});
  EXPECT_EQ(refused(3, 1, {{ClientId{0}, trained(101)}, {ClientId{1}, trained(101)}, {ClientId{2}, trained(102)}}),
            Clients{0});
  options.norm_limit = 0;
  start();
  EXPECT_EQ(refused(1, 0, warm), Clients{});
}

TEST_F(ServerTest, OnlyThoseWhoTrainedBecomeParents) {
  start();
  answer(1, 0, {{ClientId{0}, trained(0)}});
  answer(2, 0, {{ClientId{0}, profiled(0)}, {ClientId{1}, profiled(3)}, {ClientId{2}, profiled(8)}});
  answer(2, 1, {{ClientId{0}, trained(1, 11)}, {ClientId{2}, trained(3, 13)}});
  const std::vector<ServedModel> served = algorithm->served();
  ASSERT_EQ(served.size(), 2U);
  EXPECT_EQ(served[0].client, ClientId{0});
  EXPECT_EQ(served[0].num_examples, 11);
  EXPECT_EQ(served[1].client, ClientId{2});
  EXPECT_EQ(served[1].num_examples, 13);
  EXPECT_EQ(served[1].model->values()[0], 3);
  EXPECT_EQ(served[1].profile[0], 8);
  answer(3, 0, {{ClientId{1}, profiled(3)}});
  answer(3, 1, {});  // everybody dropped out
  EXPECT_EQ(algorithm->served().size(), 2U);
}

// The reference implementation's bug: weights meet other models, and others again in the next round.
TEST_F(ServerTest, PositionalJoinDrawsANewOrderEveryRound) {
  options.join = Join::positional;
  start();
  answer(1, 0, {{ClientId{0}, trained(0)}});
  std::vector<std::vector<float>> sent;
  for (Round round = 2; round <= 4; ++round) {
    std::map<ClientId, Message> profiles;
    std::map<ClientId, Message> models;
    for (std::uint32_t k = 0; k < 8; ++k) {
      profiles[ClientId{k}] = profiled(static_cast<float>(10 * k));
      models[ClientId{k}] = trained(static_cast<float>(k));
    }
    answer(round, 0, profiles);
    sent.emplace_back();
    for (std::uint32_t k = 0; k < 8; ++k) {
      sent.back().push_back(sent_to(round, k));
    }
    answer(round, 1, models);
  }
  EXPECT_NE(sent[1], sent[2]);
}

TEST_F(ServerTest, ScalingIsFittedOnceInTheFirstProfileRound) {
  options.counts = Counts::none;
  options.scaling = Scaling::min_max;
  start();
  answer(1, 0, {{ClientId{0}, trained(0)}});
  answer(2, 0, {{ClientId{0}, profiled(0)}, {ClientId{1}, profiled(10)}});  // the mean's factor: 1 / 10
  answer(2, 1, {{ClientId{0}, trained(0)}, {ClientId{1}, trained(1)}});
  // Distances 0.2 and 0.8 to the mean; a class mean that was constant at the fit keeps its raw size: 1 away from both.
  Message query = profiled(2);
  query.values["profile"] = Floats{2, 1, 1, 1, 0, 1, 0.5F, 0.5F};
  answer(3, 0, {{ClientId{0}, std::move(query)}});
  const double near = 1 / std::sqrt(0.04 + 1);
  const double far = 1 / std::sqrt(0.64 + 1);
  EXPECT_NEAR(sent_to(3, 0), far / (near + far), 1e-6);
}

TEST_F(ServerTest, OrthonormalProjectorComesFromTheServersStream) {
  start();
  answer(1, 0, {{ClientId{0}, trained(0)}});
  EXPECT_EQ(projector(2, 0), orthonormal_projector(4, 1, Rng(7).derive("projector")).components);
}

TEST_F(ServerTest, PcaCubeReachesTwoPercentBeyondTheLargestLatentOfTheLastWarmUpRound) {
  options.projection = Projection::pca_cube;
  options.warmup_rounds = 2;
  start();
  const auto with_max = [](float value) {
    Message message = trained(0);
    message.values["latent_max"] = Floats{value};
    return message;
  };
  answer(1, 0, {{ClientId{0}, with_max(9)}});
  answer(2, 0, {{ClientId{0}, with_max(2)}, {ClientId{1}, with_max(3)}, {ClientId{2}, with_max(1)}});
  const Projector expected = pca_projector(points(cube(4, 1.02 * 3)), 1);
  EXPECT_EQ(projector(3, 0), expected.components);
  EXPECT_EQ(algorithm->downlink(3, 0, ClientId{9}).floats("projector.centre"), expected.centre);
}

TEST_F(ServerTest, PcaBoxSpansTheBoundsOfAllClients) {
  options.projection = Projection::pca_box;
  start();
  answer(1, 0, {{ClientId{0}, trained(0)}});
  const auto bounds = [](Floats lower, Floats upper) {
    return Message{{{"lower", std::move(lower)}, {"upper", std::move(upper)}}};
  };
  answer(2, 0, {{ClientId{0}, bounds({0, 0, 0, 0}, {1, 1, 1, 1})}, {ClientId{1}, bounds({-1, 0, 0, 0}, {1, 5, 1, 1})}});
  EXPECT_EQ(projector(2, 1), pca_projector(points({{-1, 0, 0, 0}, {1, 5, 1, 1}}), 1).components);
}

// A client has the encoder that was sent to it with the question for bounds.
TEST_F(ServerTest, TheEncoderIsSentOnce) {
  options.projection = Projection::pca_box;
  start();
  answer(1, 0, {{ClientId{0}, trained(3)}});
  EXPECT_EQ(algorithm->downlink(2, 0, ClientId{0}).model("encoder")->values()[0], 3);
  const Message bounds{{{"lower", Floats{0, 0, 0, 0}}, {"upper", Floats{1, 1, 1, 1}}}};
  answer(2, 0, {{ClientId{0}, bounds}});
  EXPECT_FALSE(algorithm->downlink(2, 1, ClientId{0}).has("encoder"));
  EXPECT_TRUE(algorithm->downlink(2, 1, ClientId{0}).has("projector.components"));
  EXPECT_TRUE(algorithm->downlink(2, 1, ClientId{1}).has("encoder")) << "whoever did not answer may not have it";
  algorithm->forget(ClientId{0});
  EXPECT_TRUE(algorithm->downlink(2, 1, ClientId{0}).has("encoder"));
  answer(2, 1, {{ClientId{0}, profiled(0)}});
  EXPECT_TRUE(algorithm->downlink(3, 0, ClientId{0}).values.empty());
  EXPECT_TRUE(algorithm->downlink(3, 0, ClientId{1}).has("encoder"));
}

// Profiles by two encoders cannot be compared: the round that changes them has both.
TEST_F(ServerTest, ANewEncoderIsTheMeanOfAllModels) {
  options.counts = Counts::none;
  options.encoder_refresh = 2;
  start();
  answer(1, 0, {{ClientId{0}, trained(0)}});
  for (Round round = 2; round <= 3; ++round) {
    EXPECT_FALSE(algorithm->downlink(round, 0, ClientId{0}).has("next.encoder")) << round;
    answer(round, 0, {{ClientId{0}, profiled(0)}, {ClientId{1}, profiled(8)}});
    answer(round, 1, {{ClientId{0}, trained(1, 30)}, {ClientId{1}, trained(5, 10)}});
  }
  const Message request = algorithm->downlink(4, 0, ClientId{0});
  EXPECT_FLOAT_EQ(request.model("next.encoder")->values()[0], 2) << "by examples";
  EXPECT_FALSE(request.has("encoder"));
  EXPECT_EQ(algorithm->downlink(4, 0, ClientId{2}).model("encoder")->values()[0], 0) << "it has neither";
  EXPECT_THROW(answer(4, 0, {{ClientId{0}, profiled(8)}}), Error) << "and wants both profiles";
  const auto both = [](float now, float next) {
    Message message = profiled(now);
    message.values["next_profile"] = profiled(next).floats("profile");
    return message;
  };
  answer(4, 0, {{ClientId{0}, both(8, -5)}, {ClientId{1}, both(0, 5)}});
  EXPECT_NEAR(sent_to(4, 0), 5, 1e-6) << "by the encoder before, whose profiles the parents have";
  EXPECT_NEAR(sent_to(4, 1), 1, 1e-6);
  answer(4, 1, {{ClientId{0}, trained(6)}, {ClientId{1}, trained(7)}});
  EXPECT_TRUE(algorithm->downlink(5, 0, ClientId{0}).values.empty()) << "it has the new one";
  EXPECT_FLOAT_EQ(algorithm->downlink(5, 0, ClientId{2}).model("encoder")->values()[0], 2);
  answer(5, 0, {{ClientId{0}, profiled(5)}, {ClientId{1}, profiled(-5)}});
  EXPECT_NEAR(sent_to(5, 0), 7, 1e-6) << "by the new one";
  EXPECT_NEAR(sent_to(5, 1), 6, 1e-6);
}

/// The last warm-up round when held-out accuracy goes through these values (percent).
int warm_up_with(Algorithm& algorithm, const std::vector<int>& tenths, ParametersPtr model) {
  StageSeconds seconds;
  for (std::size_t i = 0; i < tenths.size(); ++i) {
    const Round round = static_cast<Round>(i) + 1;
    if (algorithm.phases(round) != 1) {
      return round - 1;
    }
    // Two clients of unequal size; together `tenths` of 1000.
    const auto answer = [&](std::int64_t correct, std::int64_t count) {
      return Message{{{"model", model}, {"num_examples", Ints{1}}, {"held_out", Ints{correct, count}}}};
    };
    std::map<ClientId, Message> answers{{ClientId{0}, answer(tenths[i] - 5, 900)}, {ClientId{1}, answer(5, 100)}};
    algorithm.uplink(round, 0, answers, seconds);
  }
  return static_cast<int>(tenths.size());
}

TEST_F(ServerTest, WarmUpEndsWhenTwoRoundsGainedUnderOnePoint) {
  options.warmup_auto = true;
  options.warmup_rounds = 8;
  start();
  EXPECT_EQ(warm_up_with(*algorithm, {100, 500, 506, 511, 515, 900, 900}, filled(0)), 5);  // 51.5 - 50.6 < 1
  start();
  EXPECT_EQ(warm_up_with(*algorithm, {100, 100, 100, 100, 100}, filled(0)), 3);  // never before the third
  start();
  EXPECT_EQ(warm_up_with(*algorithm, {100, 200, 300, 400, 500, 600, 700, 800, 850, 855}, filled(0)), 8);  // the limit
}

TEST_F(ServerTest, AGivenEncoderNeedsNoWarmUp) {
  options.encoder = "some.safetensors";
  options.warmup_rounds = 0;
  algorithm = make_feroma(options);
  ServerContext server;
  server.model = test::kServerModel;
  server.initial = filled(0);
  server.load_model = [](const std::string&) { return filled(6); };
  algorithm->init(server);
  EXPECT_EQ(algorithm->phases(1), 2);
  EXPECT_EQ(algorithm->downlink(1, 0, ClientId{0}).model("encoder")->values()[0], 6);
}

TEST_F(ServerTest, AGivenEncoderIsKeptAfterTheWarmUp) {
  options.encoder = "some.safetensors";
  algorithm = make_feroma(options);
  ServerContext server;
  server.model = test::kServerModel;
  server.initial = filled(0);
  server.load_model = [](const std::string&) { return filled(6); };
  algorithm->init(server);
  answer(1, 0, {{ClientId{0}, trained(1)}});
  EXPECT_EQ(algorithm->downlink(2, 0, ClientId{0}).model("encoder")->values()[0], 6);
}

TEST_F(ServerTest, MoreDimensionsThanTheProjectionHasAreRefused) {
  options.dimensions = 5;  // of four latents
  EXPECT_THROW(start(), Error);
}

}  // namespace
}  // namespace feroma
