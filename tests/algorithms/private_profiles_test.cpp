#include "algorithms/private_profiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "feroma/algorithms/feroma.h"
#include "feroma/models/spec.h"
#include "feroma/privacy/notice.h"
#include "tests/algorithms/private_run.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::gaussian_budget;
using test::PrivateRun;

// The toy model learns in one round: momentum, which is not told when that is so, would only lead it astray.
constexpr const char* kFeroma = "name = 'feroma'\nwarmup_rounds = 2\nprofile.dimensions = 4\nserver_momentum = 0";

// What exact profiles of the same features are worth, on test clients and where few labels choose.
std::pair<double, double> exact_accuracy() {
  test::ToyRun run;
  RoundLoop loop = run.loop(std::string(kFeroma) +
                            "\nprofile.unit_norm = true\nprofile.full_marginal = false\nprofile.max_samples = 0");
  test::play_all(loop);
  const ResultRecord result = loop.evaluate();
  return {result.accuracy, result.accuracy_few_label.value()};
}

TEST(PrivateProfiles, ServeEveryPolicyWithinTheBudget) {
  const auto [unlabelled, few_label] = exact_accuracy();
  for (const PrivacyMode mode : {PrivacyMode::gaussian, PrivacyMode::pure}) {
    PrivacyOptions privacy = gaussian_budget();
    privacy.mode = mode;
    PrivateRun run(privacy);
    RoundLoop loop = run.private_loop(kFeroma);
    EXPECT_EQ(loop.play_round().epsilon, 0) << "nothing is told in the warm-up";
    test::play_all(loop);
    const ResultRecord result = loop.evaluate();
    EXPECT_GT(result.accuracy, unlabelled - 10);
    EXPECT_GT(result.accuracy_few_label, few_label - 10);
    EXPECT_TRUE(result.accuracy_known);
    EXPECT_TRUE(result.accuracy_nearest);
    ASSERT_TRUE(result.epsilon);
    EXPECT_GT(*result.epsilon, 0);
    EXPECT_LE(*result.epsilon, privacy.epsilon_total);
    EXPECT_EQ(result.dp_guarantee, guarantee_of(privacy));
  }
}

/// What clients send in every exchange of a run.
std::vector<std::map<ClientId, Message>> traffic(const PrivacyOptions& privacy, const std::string& options = "") {
  PrivateRun run(privacy);
  RoundLoop::Setup setup = run.setup(kFeroma + ("\n" + options));
  setup.server.privacy = privacy;
  const testing::TempFolder folder;
  Disclosures disclosures(privacy, folder.path(), "feroma", Rng(1));
  SimulatedPool pool(run.federation, run.workers, Rng(2), run.stop, std::nullopt, {}, &disclosures);
  const std::unique_ptr<Algorithm> algorithm = setup.plan.make();
  prepare(*algorithm, setup.server);
  std::vector<ClientId> clients;
  for (std::uint32_t i = 0; i < 6; ++i) {
    clients.push_back(static_cast<ClientId>(i));
  }
  std::vector<std::map<ClientId, Message>> sent;
  for (Round round = 1; round <= 5; ++round) {
    for (int phase = 0; phase < algorithm->phases(round); ++phase) {
      std::map<ClientId, Message>& answers = sent.emplace_back();
      for (const auto& [client, outcome] : pool.exchange(*algorithm, round, phase, clients)) {
        answers[client] = std::get<ClientAnswer>(outcome.answer).message;
      }
      test::deliver(*algorithm, round, phase, answers);
    }
  }
  return sent;
}

// Counts, losses and accuracies stay; whatever tells of data is whole numbers, as many of them for every client.
TEST(PrivateProfiles, NothingButModelsAndNoisySumsLeavesAClient) {
  PrivacyOptions histogram = gaussian_budget();
  histogram.bounds = BoundsRule::histogram;
  PrivacyOptions pure = gaussian_budget();
  pure.mode = PrivacyMode::pure;
  for (const PrivacyOptions& privacy : {gaussian_budget(), histogram, pure, gaussian_budget(/*releases=*/1)}) {
    const std::set<std::string> allowed{"model", "sums", "epoch", "norms", "spent"};
    std::set<std::string> seen;
    std::map<std::string, std::set<std::size_t>> lengths;
    for (const auto& exchange : traffic(privacy)) {
      for (const auto& [client, message] : exchange) {
        for (const auto& [key, value] : message.values) {
          EXPECT_TRUE(allowed.contains(key)) << key;
          EXPECT_TRUE(key == "model" || std::holds_alternative<Ints>(value)) << key;
          seen.insert(key);
          lengths[key].insert(std::holds_alternative<Ints>(value) ? std::get<Ints>(value).size() : 0);
        }
      }
    }
    EXPECT_EQ(seen.contains("norms"), privacy.bounds == BoundsRule::histogram);
    EXPECT_TRUE(seen.contains("sums"));
    EXPECT_EQ(seen.contains("spent"), privacy.max_releases == 1);
    for (const auto& [key, sizes] : lengths) {
      EXPECT_EQ(sizes.size(), 1U) << key;
    }
  }
}

TEST(PrivateProfiles, AreSentAgainUnchangedUntilDataChange) {
  std::map<ClientId, std::set<Ints>> told;
  for (const auto& exchange : traffic(gaussian_budget())) {
    for (const auto& [client, message] : exchange) {
      if (message.has("sums")) {
        told[client].insert(message.ints("sums"));
      }
    }
  }
  std::set<Ints> all;
  for (const auto& [client, sums] : told) {
    EXPECT_EQ(sums.size(), 2U) << "rounds 3 to 5 have two data versions";
    all.insert(sums.begin(), sums.end());
  }
  EXPECT_EQ(all.size(), 12U);
}

TEST(PrivateProfiles, BoundsMoveOnceUnlessToldNotTo) {
  for (const Recentre recenter : {Recentre::once, Recentre::never}) {
    PrivacyOptions privacy = gaussian_budget();
    privacy.recenter = recenter;
    std::set<std::int64_t> epochs;
    for (const auto& exchange : traffic(privacy)) {
      for (const auto& [client, message] : exchange) {
        if (message.has("epoch")) {
          epochs.insert(message.integer("epoch"));
        }
      }
    }
    EXPECT_EQ(epochs.size(), recenter == Recentre::once ? 2U : 1U);
  }
}

TEST(PrivateProfiles, WithoutBudgetTheLastProfileStaysOrTheRunEnds) {
  for (const WhenSpent when : {WhenSpent::freeze, WhenSpent::stop}) {
    PrivacyOptions privacy = gaussian_budget(/*releases=*/1);
    privacy.when_spent = when;
    ScenarioOptions scenario = test::toy_scenario();
    scenario.rounds = 8;
    scenario.drifts = 4;
    PrivateRun run(privacy, scenario);
    RoundLoop loop = run.private_loop(kFeroma);
    test::play_all(loop);
    EXPECT_EQ(loop.finished_rounds() == 8, when == WhenSpent::freeze) << loop.finished_rounds();
    const ResultRecord result = loop.evaluate();
    EXPECT_GT(result.accuracy_few_label, 40);
    EXPECT_NEAR(*result.epsilon, privacy.epsilon_total, 1e-6);
  }
}

// Who sits out a round, or has nothing left from the start, still has its last profile, or learns with all.
TEST(PrivateProfiles, ASpentBudgetDoesNotEndLearning) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.rounds = 12;
  scenario.drifts = 4;
  scenario.participation = 0.5;
  PrivateRun run(gaussian_budget(/*releases=*/1), scenario);
  RoundLoop loop = run.private_loop(kFeroma);
  test::play_all(loop);
  EXPECT_GT(loop.evaluate().accuracy_few_label, 40);
  RoundLoop again = run.private_loop(kFeroma, "ledgers", "another");
  test::play_all(again);
  EXPECT_EQ(again.algorithm().served().size(), 1U) << "nobody has a profile: one model for all";
  test::ToyRun plain(scenario);
  RoundLoop fedavg = plain.loop("name = 'fedavg'");
  test::play_all(fedavg);
  EXPECT_NEAR(again.evaluate().accuracy, fedavg.evaluate().accuracy, 5) << "what is left is FedAvg";
}

// A resumed run counts what clients spent before, whoever takes part afterwards.
TEST(PrivateProfiles, EpsilonSurvivesAnInterruption) {
  PrivateRun run(gaussian_budget());
  RoundLoop whole = run.private_loop(kFeroma);
  test::play_all(whole);
  const Bytes end = whole.save();
  const ResultRecord before = whole.evaluate();
  RoundLoop resumed = run.private_loop(kFeroma);
  resumed.load(end, "test");
  EXPECT_EQ(resumed.evaluate().epsilon, before.epsilon);
  EXPECT_GT(before.epsilon, 0);
}

// Noise is the operating system's, but what was told stands in the ledger: a run that goes on tells the same.
TEST(PrivateProfiles, AnInterruptedRunGoesOnBitForBit) {
  PrivateRun run(gaussian_budget());
  RoundLoop whole = run.private_loop(kFeroma);
  for (int round = 0; round < 3; ++round) {
    static_cast<void>(whole.play_round());
  }
  const Bytes middle = whole.save();
  test::play_all(whole);
  RoundLoop resumed = run.private_loop(kFeroma);
  resumed.load(middle, "test");
  test::play_all(resumed);
  EXPECT_EQ(test::served_bits(whole.algorithm()), test::served_bits(resumed.algorithm()));
}

TEST(PrivateProfiles, SeededNoiseRepeatsAndPromisesNothing) {
  PrivacyOptions privacy = gaussian_budget();
  privacy.noise = NoiseSource::seeded;
  std::vector<std::vector<float>> bits;
  for (const int threads : {1, 2}) {
    PrivateRun run(privacy, test::toy_scenario(), threads);
    RoundLoop loop = run.private_loop(kFeroma);
    EXPECT_FALSE(loop.play_round().epsilon);
    test::play_all(loop);
    bits.push_back(test::served_bits(loop.algorithm()));
    EXPECT_FALSE(loop.evaluate().epsilon);
  }
  EXPECT_EQ(bits[0], bits[1]);
  PrivateRun run(gaussian_budget());
  RoundLoop loop = run.private_loop(kFeroma);
  test::play_all(loop);
  EXPECT_NE(test::served_bits(loop.algorithm()), bits[0]);
}

TEST(PrivateProfiles, MethodsThatTellMoreAreNotApplicable) {
  const auto refused = [](const std::string& algorithm, const std::string& text) {
    PrivateRun run(gaussian_budget());
    expect_error(ErrorCode::unsupported, text, [&] { return run.private_loop(algorithm).rounds(); });
  };
  refused("name = 'fedavg'", "send exact counts");
  refused("name = 'feroma'\npreset = 'paper'", "needs profile.projection orthonormal");
  refused("name = 'feroma'\nwarmup_rounds = 4\nwarmup_auto = true", "accuracies do not leave clients");
  refused("name = 'feroma'\nretention.models = 3", "needs retention.accuracy 0");
  refused("name = 'feroma'\nprofile.data = 'train'", "needs profile.data all");
  PrivateRun run(gaussian_budget());
  EXPECT_NO_THROW(run.private_loop("name = 'fedavg-ft'"));
  EXPECT_NO_THROW(run.private_loop("name = 'feroma'\nretention.models = 3\nretention.accuracy = 0"));
}

/// Samples as rows of four coordinates, of two classes.
EncodedSamples samples_of(int count, Rng rng) {
  EncodedSamples samples{{4, {}}, {}};
  for (int i = 0; i < count; ++i) {
    samples.labels.push_back(i % 3 == 0 ? 1 : 0);
    for (int c = 0; c < 4; ++c) {
      samples.rows.values.push_back(static_cast<float>((i % 3 == 0 ? 0.2 : -0.1) + 0.1 * rng.normal()));
    }
  }
  return samples;
}

TEST(PrivateProfiles, WithALargeBudgetAreTheMomentsThemselves) {
  const testing::TempFolder folder;
  PrivacyOptions privacy = gaussian_budget(1);
  privacy.epsilon_total = 1e5;
  privacy.recenter = Recentre::never;  // narrower bounds clip more, and that moves moments
  for (const PrivacyMode mode : {PrivacyMode::gaussian, PrivacyMode::pure}) {
    privacy.mode = mode;
    PrivateProfiles profiles(privacy, {4, 4, 2, true}, /*width=*/4, false);
    Disclosure disclosure(privacy, folder.path() / name_of(mode), "run");
    const EncodedSamples samples = samples_of(3000, Rng(3));
    Message memory = profiles.bounds_message();
    const Message told = profiles.tell_profile(&disclosure, memory, 0, [&] { return samples; });
    profiles.check_profile(Answer("test", ClientId{0}, told));
    profiles.learn({{ClientId{0}, told}});
    const Profile read = profiles.read(ClientId{0}, told, Rng(1)).value();
    const Profile exact = make_profile(samples.rows, samples.rows, {samples.labels, {}}, 2, {}, Rng(1));
    EXPECT_EQ(read.num_samples, 3000);
    EXPECT_NEAR(read.prior[1], 1.0 / 3, 1e-3);
    EXPECT_EQ(read.added_noise.size(), encode(read, {4, 4, 2, true}).size());
    for (std::size_t c = 0; c < 4; ++c) {
      EXPECT_NEAR(read.marginal.mean[c], exact.marginal.mean[c], 1e-3);
      EXPECT_NEAR(read.marginal.std[c], exact.marginal.std[c], 1e-3);
      EXPECT_NEAR(read.per_class[1].mean[c], exact.per_class[1].mean[c], 1e-3);
    }
    EXPECT_FALSE(profiles.test_profile(&disclosure, samples.rows)) << "one release was all";
    // A client that knows no labels has the same marginal.
    Disclosure stranger(privacy, folder.path() / "test" / name_of(mode), "run");
    const Profile unlabelled = profiles.test_profile(&stranger, samples.rows).value();
    EXPECT_EQ(unlabelled.num_samples, 3000);
    EXPECT_EQ(unlabelled.added_noise.size(), 8U);
    for (std::size_t c = 0; c < 4; ++c) {
      EXPECT_NEAR(unlabelled.marginal.mean[c], exact.marginal.mean[c], 2e-3);
      EXPECT_NEAR(unlabelled.marginal.std[c], exact.marginal.std[c], 2e-3);
      EXPECT_LT(unlabelled.added_noise[c], read.added_noise[c]) << "one block has the noise of one";
    }
  }
}

TEST(PrivateProfiles, JitterMovesWhatIsSentAgainAndSaysSo) {
  const testing::TempFolder folder;
  for (const bool jitter : {false, true}) {
    PrivacyOptions privacy = gaussian_budget(2);
    privacy.jitter = jitter;
    PrivateProfiles profiles(privacy, {4, 4, 2, true}, 4, false);
    Disclosure disclosure(privacy, folder.path() / (jitter ? "with" : "without"), "run");
    Message memory = profiles.bounds_message();
    const Message told = profiles.tell_profile(&disclosure, memory, 0, [&] { return samples_of(2000, Rng(6)); });
    profiles.learn({{ClientId{0}, told}});
    const Profile first = profiles.read(ClientId{0}, told, Rng(1)).value();
    const Profile second = profiles.read(ClientId{0}, told, Rng(2)).value();
    const Profile third = profiles.read(ClientId{0}, told, Rng(3)).value();
    EXPECT_EQ(first == second, !jitter);
    EXPECT_EQ(second == third, !jitter);
    EXPECT_EQ(second.added_noise[0] > 1.9F * first.added_noise[0], jitter);
    // What was read survives a checkpoint.
    ArchiveWriter archive;
    profiles.save(archive);
    PrivateProfiles resumed(privacy, {4, 4, 2, true}, 4, false);
    ArchiveReader reader(archive.bytes(), "test");
    resumed.load(reader);
    EXPECT_EQ(resumed.read(ClientId{0}, told, Rng(3)).value(), third);
  }
}

// The variance that a profile states is that of what was added: over many releases the two agree.
TEST(PrivateProfiles, StateTheirNoise) {
  const testing::TempFolder folder;
  PrivacyOptions privacy = gaussian_budget(400);
  privacy.epsilon_total = 50;
  privacy.recenter = Recentre::never;
  PrivateProfiles profiles(privacy, {4, 4, 2, true}, 4, false);
  Disclosure disclosure(privacy, folder.path() / "a", "run");
  const EncodedSamples samples = samples_of(2000, Rng(4));
  std::vector<double> sum;
  std::vector<double> squares;
  std::vector<double> said;
  constexpr int kReleases = 300;
  for (int version = 0; version < kReleases; ++version) {
    Message memory = profiles.bounds_message();
    const Message told = profiles.tell_profile(&disclosure, memory, version, [&] { return samples; });
    profiles.learn({{ClientId{0}, told}});
    const Profile read = profiles.read(ClientId{0}, told, Rng(1)).value();
    const std::vector<float> values = encode(read, {4, 4, 2, true});
    sum.resize(values.size());
    squares.resize(values.size());
    said.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum[i] += static_cast<double>(values[i]) / kReleases;
      squares[i] += static_cast<double>(values[i]) * static_cast<double>(values[i]) / kReleases;
      said[i] += static_cast<double>(read.added_noise[i]) / kReleases;
    }
  }
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const double seen = squares[i] - sum[i] * sum[i];
    EXPECT_GT(seen, 0.6 * said[i]) << i;
    EXPECT_LT(seen, 1.6 * said[i]) << i;
  }
}

TEST(PrivateProfiles, OfSeveralLabelsEveryRecordCountsOnceInTheMarginal) {
  const testing::TempFolder folder;
  PrivacyOptions privacy = gaussian_budget(2);
  privacy.epsilon_total = 1e5;
  privacy.max_labels = 2;
  PrivateProfiles profiles(privacy, {4, 4, 3, true}, 4, /*multi_label=*/true);
  Disclosure disclosure(privacy, folder.path() / "a", "run");
  EncodedSamples samples = samples_of(900, Rng(5));
  samples.labels.clear();
  for (int i = 0; i < 900; ++i) {  // none, one, or all three
    for (int u = 0; u < 3; ++u) {
      samples.targets.push_back(i % 3 == 2 || (i % 3 == 1 && u == 0) ? 1.0F : 0.0F);
    }
  }
  Message memory = profiles.bounds_message();
  const Message told = profiles.tell_profile(&disclosure, memory, 0, [&] { return samples; });
  profiles.learn({{ClientId{0}, told}});
  const Profile read = profiles.read(ClientId{0}, told, Rng(1)).value();
  EXPECT_EQ(read.num_samples, 900);
  EXPECT_NEAR(read.prior[0], 2.0 / 3, 1e-3);
  EXPECT_NEAR(read.prior[1], 1.0 / 3, 1e-3);
  EXPECT_EQ(read.prior[2], 0) << "only two labels of a record count";
}

TEST(PrivateProfiles, RefuseAnswersOfAnotherShape) {
  const PrivateProfiles profiles(gaussian_budget(), {4, 4, 2, true}, 4, false);
  const auto refused = [&](const Message& message, const std::string& text) {
    expect_error(ErrorCode::invalid_data, text, [&] {
      profiles.check_profile(Answer("feroma", ClientId{3}, message));
      return 0;
    });
  };
  refused({{{"sums", Ints(7)}, {"epoch", Ints{0}}}}, "client 3's sums must have 18 values, got 7");
  refused({{{"sums", Ints(18)}, {"epoch", Ints{1}}}}, "client 3's epoch must");
  refused({{{"sums", Ints(18, std::int64_t{1} << 60)}, {"epoch", Ints{0}}}}, "client 3's sums must");
  refused({{{"sums", Floats(18)}, {"epoch", Ints{0}}}}, "client 3's sums must");
}

Samples random_pictures(int count, Rng rng) {
  Samples samples;
  samples.shape = {1, 28, 28};
  for (int i = 0; i < count; ++i) {
    samples.labels.push_back(i % 10);
    for (int p = 0; p < 28 * 28; ++p) {
      samples.pixels.push_back(static_cast<std::uint8_t>(rng.below(256)));
    }
  }
  return samples;
}

View view_of(const Samples& samples) {
  static const std::vector<Recipe> as_it_is{
      {.transform_of_class = std::vector<Transform>(10), .label_of_class = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}};
  View view{&samples, as_it_is, samples.shape, {}};
  for (std::uint32_t i = 0; i < samples.count(); ++i) {
    view.items.push_back({i, 0});
  }
  return view;
}

TEST(PrivateProfiles, SharesOfFewClassesStateTheirOwnNoise) {
  const testing::TempFolder folder;
  PrivacyOptions privacy = gaussian_budget(400);
  privacy.epsilon_total = 50;
  privacy.recenter = Recentre::never;
  PrivateProfiles profiles(privacy, {4, 4, 10, true}, 4, false);
  Disclosure disclosure(privacy, folder.path() / "a", "run");
  const EncodedSamples samples = samples_of(2000, Rng(7));  // two classes of ten
  double sum = 0;
  double squares = 0;
  double said = 0;
  for (int version = 0; version < 200; ++version) {
    Message memory = profiles.bounds_message();
    const Message told = profiles.tell_profile(&disclosure, memory, version, [&] { return samples; });
    profiles.learn({{ClientId{0}, told}});
    const Profile read = profiles.read(ClientId{0}, told, Rng(1)).value();
    const auto share = static_cast<double>(read.prior[1]);
    sum += share / 200;
    squares += share * share / 200;
    said += static_cast<double>(read.added_noise[read.added_noise.size() - 9]) / 200;
  }
  const double seen = squares - sum * sum;
  EXPECT_GT(seen, 0.5 * said);
  EXPECT_LT(seen, 2 * said);
}

// Each record's part of the sums must not depend on who else is there: latents are the same to the bit in any batch.
void expect_pure_records(const std::string& name, Latent latent) {
  const ModelSpec model = make_model(name, {1, 28, 28}, 10);
  const std::unique_ptr<Engine> engine = make_engine(EngineKind::native, model);
  Trainer trainer(*engine);
  const ParametersPtr encoder = share(initialise(model, Rng(1)));
  FeromaOptions options;
  options.unit_norm = true;
  options.latent = latent;
  const Projector projector = orthonormal_projector(latent_size(model, latent), 10, Rng(2));
  const Samples pictures = random_pictures(300, Rng(3));  // more than a batch
  const View all = view_of(pictures);
  const SumShape shape;
  const ClipBounds bounds = fixed_bounds(shape, projector.input);
  const auto sums = [&](const View& view) {
    const EncodedSamples encoded = encode_samples(options, encoder, trainer, view, true);
    std::vector<RecordLabels> labels;
    for (const std::int32_t label : encoded.labels) {
      labels.push_back({label});
    }
    return sums_of(shape, bounds, project(projector, encoded.rows).values, labels);
  };
  View reversed = all;
  std::reverse(reversed.items.begin(), reversed.items.end());
  EXPECT_EQ(sums(reversed), sums(all));
  std::vector<std::int64_t> one_by_one(shape.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    View alone = all;
    alone.items = {all.items[i]};
    const std::vector<std::int64_t> own = sums(alone);
    std::transform(own.begin(), own.end(), one_by_one.begin(), one_by_one.begin(), std::plus<>());
  }
  EXPECT_EQ(one_by_one, sums(all));
  for (const std::size_t gone : {0UL, 63UL, 255UL, 256UL, 299UL}) {
    View fewer = all;
    fewer.items.erase(fewer.items.begin() + static_cast<std::ptrdiff_t>(gone));
    View alone = all;
    alone.items = {all.items[gone]};
    std::vector<std::int64_t> rest = sums(all);
    const std::vector<std::int64_t> own = sums(alone);
    std::transform(rest.begin(), rest.end(), own.begin(), rest.begin(), std::minus<>());
    EXPECT_EQ(sums(fewer), rest) << gone;
  }
}

TEST(PrivateProfiles, SumsOfARealModelAreThoseOfItsRecords) {
  expect_pure_records("lenet5", Latent::flatten);
  expect_pure_records("lenet5", Latent::penultimate);
  expect_pure_records("mlp", Latent::penultimate);
}

}  // namespace
}  // namespace feroma
