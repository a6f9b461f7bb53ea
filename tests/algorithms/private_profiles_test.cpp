#include "algorithms/private_profiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "feroma/models/spec.h"
#include "tests/algorithms/private_run.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::gaussian_budget;

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

/// What a server makes of what a client without labels tells; nothing once its budget is spent.
std::optional<Profile> unlabelled_profile(const PrivateProfiles& profiles, Disclosure& disclosure, const Rows& rows) {
  return profiles.read_unlabelled(profiles.tell_unlabelled(&disclosure, profiles.bounds_message(), rows));
}

TEST(PrivateProfiles, WithALargeBudgetAreTheMomentsThemselves) {
  const test::TempFolder folder;
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
    EXPECT_FALSE(unlabelled_profile(profiles, disclosure, samples.rows)) << "one release was all";
    // A client that knows no labels has the same marginal.
    Disclosure stranger(privacy, folder.path() / "test" / name_of(mode), "run");
    const Profile unlabelled = unlabelled_profile(profiles, stranger, samples.rows).value();
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
  const test::TempFolder folder;
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

// Who only asks for a model makes fewer releases, so each may tell more, within the same budget.
TEST(PrivateProfiles, OfTestClientsHaveTheNoiseOfFewReleases) {
  const test::TempFolder folder;
  std::vector<float> noise;
  for (const int test_releases : {1, 4, 20}) {
    PrivacyOptions privacy = gaussian_budget(20);
    privacy.epsilon_total = 10;
    privacy.test_releases = test_releases;
    const PrivateProfiles profiles(privacy, {4, 4, 2, true}, 4, false);
    Disclosure disclosure(privacy, folder.path() / std::to_string(test_releases), "run");
    const Rows rows = samples_of(2000, Rng(8)).rows;
    noise.push_back(unlabelled_profile(profiles, disclosure, rows).value().added_noise[0]);
    EXPECT_EQ(disclosure.spent().epsilon > 9.9, test_releases == 1) << disclosure.spent().epsilon;
  }
  // Variances, up to the noisy count below them.
  EXPECT_NEAR(noise[1] / noise[0], 4, 0.4);
  EXPECT_NEAR(noise[2] / noise[0], 20, 2);
}

// The variance that a profile states is that of what was added: over many releases the two agree.
TEST(PrivateProfiles, StateTheirNoise) {
  const test::TempFolder folder;
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
  const test::TempFolder folder;
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

// New bounds are worth one release of unchanged data; without budget for it, what was told before still stands.
TEST(PrivateProfiles, AreToldOnceMoreWhenBoundsMove) {
  const test::TempFolder folder;
  for (const int releases : {1, 2}) {
    const PrivacyOptions privacy = gaussian_budget(releases);
    PrivateProfiles profiles(privacy, {4, 4, 2, true}, 4, false);
    Disclosure disclosure(privacy, folder.path() / std::to_string(releases), "run");
    const auto samples = [] { return samples_of(2000, Rng(6)); };
    Message memory = profiles.bounds_message();
    const Message first = profiles.tell_profile(&disclosure, memory, 0, samples);
    profiles.learn({{ClientId{0}, first}});
    for (const auto& [key, value] : profiles.bounds_message().values) {
      memory.values[key] = value;
    }
    const Message second = profiles.tell_profile(&disclosure, memory, 0, samples);
    const Message third = profiles.tell_profile(&disclosure, memory, 0, samples);
    EXPECT_EQ(second.ints("sums") == first.ints("sums"), releases == 1);
    EXPECT_EQ(second.integer("epoch"), releases - 1);
    EXPECT_EQ(third.ints("sums"), second.ints("sums"));
    const float before = profiles.read(ClientId{0}, first, Rng(1)).value().added_noise[0];
    const float after = profiles.read(ClientId{0}, second, Rng(1)).value().added_noise[0];
    EXPECT_EQ(after < before, releases == 2) << before << " " << after;
    EXPECT_TRUE(profiles.tell_profile(&disclosure, memory, 1, samples).has("spent"));
  }
}

TEST(PrivateProfiles, SharesOfFewClassesStateTheirOwnNoise) {
  const test::TempFolder folder;
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
