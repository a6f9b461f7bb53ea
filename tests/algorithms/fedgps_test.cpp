#include "feroma/algorithms/fedgps.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "algorithms/surrogate_loss.h"
#include "algorithms/surrogates.h"
#include "tests/algorithms/one_client.h"
#include "tests/algorithms/slopes.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::bits_of;
using test::OneClient;
using test::ToyRun;

const std::string kNothing =
    "name = 'fedgps'\nlook_ahead = 0\nsurrogate_weight = 0\ncontrast = 0\nsurrogate_contrast = 0\nprototype_weight = 0";

FedGpsOptions without_surrogates() {
  FedGpsOptions options;
  options.surrogate_weight = options.contrast = options.surrogate_contrast = options.prototype_weight = 0;
  return options;
}

/// Something trainable below the latent, and smooth.
ModelSpec fedgps_model() { return {"small", {3, 4, 4}, 10, {Flatten{}, Linear{"fc1", 12}, Elu{}, Linear{"fc2", 10}}}; }
test::MakeEngine native_small() {
  return [](const ModelSpec&) { return make_engine(EngineKind::native, fedgps_model()); };
}

ServerContext fedgps_context(const ModelSpec& model, FitOptions fit = {2, 16, 0.2, 0.9, MomentumReset::round}) {
  ServerContext server;
  server.model = model;
  server.initial = share(initialise(model, Rng(1)));
  server.fit = fit;
  server.rng = Rng(2);
  return server;
}

TEST(FedGps, WithoutAnyOfItsTermsIsFedAvgBitForBit) {
  ToyRun run;
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  RoundLoop fedgps = run.loop(kNothing);
  test::play_all(fedavg);
  test::play_all(fedgps);
  EXPECT_EQ(test::served_bits(fedavg.algorithm()), test::served_bits(fedgps.algorithm()));
  EXPECT_EQ(fedavg.totals().passes.forward, fedgps.totals().passes.forward);
}

TEST(FedGps, GradientsAreTakenAheadAndAppliedWhereTheModelIs) {
  // Loss (x - 3)^2 / 2 and one step a round without momentum: x - 0.1 (x + shift - 3), the shift gone afterwards.
  FedGpsOptions options = without_surrogates();
  options.clip = 0;
  const auto algorithm = make_fedgps(options);
  const FitOptions once{1, 100000, 0.1, 0, MomentumReset::round};
  ToyRun run(test::toy_scenario(), 1, test::make_quadratic(1, 3));
  ServerContext server = fedgps_context(run.model, once);
  algorithm->init(server);
  SimulatedPool pool(run.federation, run.workers, Rng(42), run.stop);
  const std::vector<ClientId> two{ClientId{0}, ClientId{1}};
  StageSeconds seconds;
  const auto ask = [&](Round round) {
    std::map<ClientId, Message> answers;
    for (auto& [client, outcome] : pool.exchange(*algorithm, round, 0, two)) {
      answers[client] = std::get<ClientAnswer>(outcome.answer).message;
    }
    return answers;
  };
  auto first = ask(1);
  // Client 1 is made to have moved elsewhere: up by 1 in every value.
  Parameters other = server.initial->clone();
  for (float& value : other.values()) {
    value += 1;
  }
  first[ClientId{1}].values["model"] = share(std::move(other));
  algorithm->uplink(1, 0, first, seconds);
  const Parameters& model = *algorithm->served().front().model;
  const auto second = ask(2);
  // Client 0 looks where client 1 went: all values up, each tensor's norm sqrt(size), their sum scaled to 0.5.
  double lengths = 0;
  for (const Segment& segment : model.layout().segments) {
    lengths += std::sqrt(static_cast<double>(segment.size));
  }
  const double shift = 0.5 / lengths;
  for (const std::size_t i : {0U, 100U, 480U, 489U}) {
    const auto x = static_cast<double>(model.values()[i]);
    EXPECT_NEAR(second.at(ClientId{0}).model("model")->values()[i], x - 0.1 * (x + shift - 3), 1e-5) << i;
  }
}

TEST(FedGps, WhoDidNotTakePartLooksWhereEverybodyWent) {
  FedGpsOptions options = without_surrogates();
  const auto algorithm = make_fedgps(options);
  const ServerContext server = fedgps_context(fedgps_model());
  algorithm->init(server);
  EXPECT_FALSE(algorithm->downlink(1, 0, ClientId{0}).has("mean_update"));
  Parameters moved = server.initial->clone();
  moved.values()[3] += 4;
  std::map<ClientId, Message> answers{{ClientId{0}, {{{"model", server.initial}}}},
                                      {ClientId{2}, {{{"model", share(std::move(moved))}}}}};
  StageSeconds seconds;
  algorithm->uplink(5, 0, answers, seconds);
  EXPECT_EQ(algorithm->downlink(6, 0, ClientId{2}).ints("updates"), (Ints{2, 5}));
  EXPECT_EQ(algorithm->downlink(6, 0, ClientId{1}).ints("updates"), (Ints{2, 0}));
  EXPECT_NEAR(algorithm->downlink(6, 0, ClientId{1}).model("mean_update")->values()[3], 2, 1e-5);
  std::map<ClientId, Message> nobody;
  algorithm->uplink(6, 0, nobody, seconds);
  EXPECT_EQ(algorithm->downlink(7, 0, ClientId{2}).ints("updates"), (Ints{2, 5}));
}

TEST(FedGps, MadeUpSamplesAreTheSameForEverybodyAndDifferByClass) {
  const Surrogates one = make_surrogates({1, 8, 8}, 3, 20, 0.5, Rng(4));
  const Surrogates two = make_surrogates({1, 8, 8}, 3, 20, 0.5, Rng(4));
  EXPECT_EQ(one.rows, two.rows);
  EXPECT_EQ(one.labels.size(), 60U);
  EXPECT_EQ(one.labels[20], 1);
  const Surrogates bare = make_surrogates({1, 8, 8}, 3, 2, 0, Rng(4));
  const auto row = [&](std::size_t i) {
    return std::vector(bare.rows.begin() + static_cast<std::ptrdiff_t>(64 * i),
                       bare.rows.begin() + static_cast<std::ptrdiff_t>(64 * i + 64));
  };
  EXPECT_EQ(row(0), row(1));  // without noise a class is its mean
  EXPECT_NE(row(0), row(2));
  SurrogateStream stream(one, 64, Rng(1));
  std::vector<int> counts(3);
  for (int i = 0; i < 6; ++i) {
    for (const std::int32_t label : stream.next(10).labels) {
      ++counts[static_cast<std::size_t>(label)];
    }
  }
  EXPECT_EQ(counts, (std::vector{20, 20, 20}));  // all of them before any comes again
}

TEST(FedGps, AlignmentGradientsAgreeWithFiniteDifferences) {
  const std::vector<std::int32_t> labels{0, 1, 0, 1, 2, 0, 1};
  const std::vector<float> latents = test::normal_rows(7 * 3, 5);
  Prototypes targets(3, 3);
  targets.set(0, std::vector<float>{1, 2, 3});
  targets.set(2, std::vector<float>{-1, 0, 1});
  const auto value = [&](const FedGpsOptions& options, const std::vector<float>& at, std::vector<float>& slope) {
    slope.assign(at.size(), 0.0F);
    return add_alignment_(options, 3, {at, labels, 3}, targets, slope);
  };
  FedGpsOptions options;
  options.contrast = 0;
  options.surrogate_contrast = 0.7;
  options.prototype_weight = 2;
  options.temperature = 0.5;
  std::vector<float> slope;
  std::vector<float> ignored;
  static_cast<void>(value(options, latents, slope));
  test::expect_slopes(
      latents, slope, [&](const auto& at) { return value(options, at, ignored); }, 1e-2, 2e-3);
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(slope[i], 0) << "the first three are real";
  }
  // The joint contrast moves real latents only, and knows which made-up class belongs to which real one.
  FedGpsOptions joint = options;
  joint.surrogate_contrast = joint.prototype_weight = 0;
  joint.contrast = 1;
  const double matched = value(joint, latents, slope);
  for (std::size_t i = 0; i < 9; ++i) {
    std::vector<float> more = latents;
    std::vector<float> less = latents;
    more[i] += 0.01F;
    less[i] -= 0.01F;
    EXPECT_NEAR(slope[i], (value(joint, more, ignored) - value(joint, less, ignored)) / 0.02, 5e-3);
  }
  for (std::size_t i = 9; i < slope.size(); ++i) {
    EXPECT_EQ(slope[i], 0) << "made-up";
  }
  joint.match_classes = false;
  EXPECT_NE(value(joint, latents, ignored), matched);
}

TEST(FedGps, TheStepIsTheGradientOfTheWholeLoss) {
  // One step over all data without momentum, made-up samples of one kind only: what moved is the gradient.
  const FitOptions once{1, 100000, 0.01, 0, MomentumReset::round};
  FedGpsOptions options;
  options.look_ahead = 0;
  options.clip = 0;
  options.surrogate_noise = 0;
  options.surrogates_per_class = 1;
  options.surrogate_batch = 10;
  options.temperature = 1;
  options.contrast = 0;
  OneClient client(make_fedgps(options), once);  // the toy engine has nothing below the latent: the head is all
  const ParametersPtr before = client.algorithm->served().front().model;
  const Message down = client.algorithm->downlink(1, 0, ClientId{0});
  const Message answer = std::get<ClientAnswer>(client.step(1).answer).message;
  const View train = client.run.federation.shard(ClientId{0}, 1).train;
  const Batch all = test::first_samples(train, train.size());
  const Surrogates made_up =
      make_surrogates(client.run.model.input, 10, 1, 0, Rng(42).derive("server").derive("surrogates"));
  std::vector<float> rows(all.inputs.begin(), all.inputs.end());
  rows.insert(rows.end(), made_up.rows.begin(), made_up.rows.end());
  std::vector<std::int32_t> labels = all.labels;
  labels.insert(labels.end(), made_up.labels.begin(), made_up.labels.end());
  const WideLoss loss = wide_loss(options, 10, before->values(), down.floats("head"), {rows, labels, train.size()});
  const ParametersPtr after = answer.model("model");
  for (const std::size_t i : {0U, 77U, 300U, 479U}) {
    EXPECT_NEAR((before->values()[i] - after->values()[i]) / 0.01F, loss.weights[i], 2e-4) << i;
    EXPECT_NEAR((down.floats("head")[i] - answer.floats("head")[i]) / 0.01F, loss.weights[480 + i], 2e-4) << i;
  }
  EXPECT_NEAR((before->values()[484] - after->values()[484]) / 0.01F, loss.biases[4], 2e-4);
  EXPECT_NEAR((down.floats("head")[484] - answer.floats("head")[484]) / 0.01F, loss.biases[14], 2e-4);
  // Everybody's made-up latents are the made-up samples here.
  EXPECT_EQ(answer.ints("counts"), Ints(10, 1));
  EXPECT_EQ(answer.floats("prototypes"), made_up.rows);
}

/// The last layer is one: its made-up half counts in the length of the look and moves with it. Client 0 looks where
/// client 1 went, up by 1 in the model, which is the real half of the toy's only layer, and by 2 in the made-up half.
TEST(FedGps, LooksAheadWithTheWholeLastLayer) {
  FedGpsOptions options;
  options.clip = 0;
  options.surrogate_noise = 0;
  options.surrogates_per_class = 1;
  options.surrogate_batch = 10;
  options.contrast = 0;
  for (const bool whole : {true, false}) {
    options.whole_head = whole;
    const auto algorithm = make_fedgps(options);
    ToyRun run;
    const ServerContext server = fedgps_context(run.model, {1, 100000, 0.01, 0, MomentumReset::round});
    algorithm->init(server);
    SimulatedPool pool(run.federation, run.workers, Rng(42), run.stop);
    const std::vector<ClientId> two{ClientId{0}, ClientId{1}};
    const auto ask = [&](Round round) {
      std::map<ClientId, Message> answers;
      for (auto& [client, outcome] : pool.exchange(*algorithm, round, 0, two)) {
        answers[client] = std::get<ClientAnswer>(outcome.answer).message;
      }
      return answers;
    };
    const Message sent = algorithm->downlink(1, 0, ClientId{1});
    std::map<ClientId, Message> first = ask(1);
    Parameters model = sent.model("model")->clone();
    Floats head = sent.floats("head");
    std::for_each(model.values().begin(), model.values().end(), [](float& value) { value += 1; });
    std::for_each(head.begin(), head.end(), [](float& value) { value += 2; });
    first[ClientId{1}].values["model"] = share(std::move(model));
    first[ClientId{1}].values["head"] = head;
    test::deliver(*algorithm, 1, 0, first);

    const Message down = algorithm->downlink(2, 0, ClientId{0});
    EXPECT_EQ(down.has("head_update"), whole);
    const Message answer = ask(2).at(ClientId{0});
    const double own = std::sqrt(480.0) + std::sqrt(10.0);
    const double both = std::sqrt(480.0 * (1 + 4)) + std::sqrt(10.0 * (1 + 4));
    const auto shift = static_cast<float>(0.5 / (whole ? both : own));
    Parameters ahead = down.model("model")->clone();
    Floats head_ahead = down.floats("head");
    std::for_each(ahead.values().begin(), ahead.values().end(), [&](float& value) { value += shift; });
    std::for_each(head_ahead.begin(), head_ahead.end(), [&](float& value) { value += whole ? 2 * shift : 0; });

    const View train = run.federation.shard(ClientId{0}, 2).train;
    const Batch all = test::first_samples(train, train.size());
    const Surrogates made_up = make_surrogates(run.model.input, 10, 1, 0, server.rng.derive("surrogates"));
    std::vector<float> rows(all.inputs.begin(), all.inputs.end());
    rows.insert(rows.end(), made_up.rows.begin(), made_up.rows.end());
    std::vector<std::int32_t> labels = all.labels;
    labels.insert(labels.end(), made_up.labels.begin(), made_up.labels.end());
    const WideLoss loss = wide_loss(options, 10, ahead.values(), head_ahead, {rows, labels, train.size()});
    for (const std::size_t i : {0U, 77U, 300U, 479U}) {
      EXPECT_NEAR((down.model("model")->values()[i] - answer.model("model")->values()[i]) / 0.01F, loss.weights[i],
                  2e-4)
          << i;
      EXPECT_NEAR((down.floats("head")[i] - answer.floats("head")[i]) / 0.01F, loss.weights[480 + i], 4e-4) << i;
    }
  }
}

TEST(FedGps, AMadeUpHalfThatDoesNotMoveMakesNoDifferenceToTheLook) {
  // Without surrogates there is no such half: both ways of counting are one.
  const auto trained = [](const std::string& options) {
    ToyRun run;
    RoundLoop loop =
        run.loop("name = 'fedgps'\nsurrogate_weight = 0\ncontrast = 0\nsurrogate_contrast = 0\nprototype_weight = 0\n" +
                 options);
    test::play_all(loop);
    return test::served_bits(loop.algorithm());
  };
  EXPECT_EQ(trained("whole_head = true"), trained("whole_head = false"));
}

TEST(FedGps, LeNet5CostsTwoModelsDownAndOneUp) {
  const auto algorithm = make_fedgps({});
  const ServerContext server = fedgps_context(lenet5({1, 28, 28}, 10));
  algorithm->init(server);
  constexpr std::int64_t kModel = 4 * 61706;
  constexpr std::int64_t kHead = 4 * (840 + 10);  // the made-up half of the last layer
  EXPECT_EQ(algorithm->downlink(1, 0, ClientId{0}).bytes(), kModel + kHead);
  const auto answer = [&] {
    return Message{{{"model", server.initial},
                    {"head", Floats(850, 0.5F)},
                    {"prototypes", Floats(840, 0.5F)},
                    {"classes", Ints{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
                    {"counts", Ints(10, 3)}}};
  };
  EXPECT_EQ(answer().bytes(), kModel + kHead + 4 * 840 + 8 * 20);
  std::map<ClientId, Message> answers{{ClientId{0}, answer()}, {ClientId{1}, answer()}};
  StageSeconds seconds;
  algorithm->uplink(1, 0, answers, seconds);
  EXPECT_EQ(algorithm->downlink(2, 0, ClientId{0}).bytes(), 2 * (kModel + kHead) + 4 * 840 + 8 * 10 + 8 * 2);
}

TEST(FedGps, AnswersCarryWhatTheCostSays) {
  OneClient client(make_fedgps({}));
  const Message answer = client.play(1);
  EXPECT_EQ(answer.bytes(), 4 * 490 + 4 * 490 + 4 * 480 + 8 * 20);  // the toy's head is all of it
  const std::int64_t held = static_cast<std::int64_t>(client.run.federation.shard(ClientId{0}, 1).train.size());
  const ClientOutcome outcome = client.step(2);
  const std::int64_t steps = 2 * ((held + 15) / 16);
  EXPECT_EQ(outcome.passes.forward, 2 * held + steps * 64);
  EXPECT_EQ(outcome.passes.backward, 2 * held + steps * 64);
}

TEST(FedGps, RefusesAnswersThatDoNotFit) {
  const auto algorithm = make_fedgps({});
  const ServerContext server = fedgps_context(fedgps_model());
  algorithm->init(server);
  const Message good{{{"model", server.initial},
                      {"head", Floats(130, 0.5F)},
                      {"prototypes", Floats(12, 0.5F)},
                      {"classes", Ints{4}},
                      {"counts", Ints{2}}}};
  const auto refuses = [&](const std::string& key, const Blob& value) {
    Message bad = good;
    bad.values[key] = value;
    std::map<ClientId, Message> answers{{ClientId{0}, bad}};
    StageSeconds seconds;
    expect_error(ErrorCode::invalid_data, "[fedgps]", [&] {
      test::deliver(*algorithm, 1, 0, answers);
      return 0;
    });
  };
  refuses("head", Floats(129, 0.5F));
  refuses("head", Floats(130, std::numeric_limits<float>::infinity()));
  refuses("counts", Ints{0});
  refuses("classes", Ints{10});
  refuses("model", share(initialise(lenet5({1, 28, 28}, 10), Rng(1))));
  EXPECT_FALSE(algorithm->downlink(1, 0, ClientId{0}).has("mean_update"));
}

TEST(FedGps, RefusesMultiLabelDataBeforeARunBegins) {
  ServerContext server = fedgps_context(fedgps_model());
  server.multi_label = true;
  expect_error(ErrorCode::unsupported, "[fedgps]", [&] {
    make_fedgps({})->init(server);
    return 0;
  });
}

TEST(FedGps, LearnsOnARealEngine) {
  ToyRun run(test::toy_scenario(), 1, native_small());
  run.model = fedgps_model();
  RoundLoop loop = run.loop("name = 'fedgps'");
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  const double untrained = loop.evaluate().accuracy;
  test::play_all(loop);
  test::play_all(fedavg);
  EXPECT_GT(loop.evaluate().accuracy, untrained + 0.7 * (fedavg.evaluate().accuracy - untrained));
}

TEST(FedGps, EveryOptionActs) {
  const auto trained = [](const std::string& options) {
    ToyRun run(test::toy_scenario(), 1, native_small());
    run.model = fedgps_model();
    RoundLoop loop = run.loop("name = 'fedgps'\n" + options);
    for (int i = 0; i < 2; ++i) {
      static_cast<void>(loop.play_round());
    }
    return test::served_bits(loop.algorithm());
  };
  const std::vector<float> plain = trained("");
  for (const std::string option : {"momentum_reset = 'epoch'", "look_ahead = 0.1", "surrogate_weight = 0.5",
                                   "contrast = 0.5", "surrogate_contrast = 0.5", "prototype_weight = 0.5",
                                   "temperature = 0.2", "match_classes = false", "clip = 0.1", "surrogate_batch = 32",
                                   "surrogates_per_class = 9", "surrogate_noise = 0.2", "whole_head = false"}) {
    EXPECT_NE(trained(option), plain) << option;
  }
}

TEST(FedGps, RefusesOptionsThatWouldDoNothing) {
  ToyRun run;
  for (const std::string option : {"surrogate_batch = 3", "surrogates_per_class = 3", "surrogate_noise = 0.1",
                                   "temperature = 1.0", "match_classes = false"}) {
    expect_error(ErrorCode::invalid_config, "would be ignored",
                 [&] { return run.loop(kNothing + "\n" + option).rounds(); });
  }
}

}  // namespace
}  // namespace feroma
