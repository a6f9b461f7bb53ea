#include "algorithms/parents.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace feroma {
namespace {

const ProfileShape kPlane{2, 1, 2, true};

Profile profile_of(double x, Rng& rng) {
  const auto jitter = [&] { return static_cast<float>(x + 0.01 * rng.normal()); };
  return {{{jitter(), jitter()}, {1, 1}}, {{{jitter()}, {1}}, {{jitter()}, {1}}}, {0.5F, 0.5F}, 400};
}

std::vector<Parent> parents_of(Rng& rng, std::size_t count) {
  std::vector<Parent> parents;
  for (std::uint32_t i = 0; i < count; ++i) {
    parents.push_back({ClientId{i}, nullptr, profile_of(i % 2 == 0 ? 0 : 3, rng), 100 + static_cast<int>(i)});
  }
  return parents;
}

std::vector<Receiver> receivers_of(Rng& rng, std::size_t count) {
  std::vector<Receiver> receivers;
  for (std::uint32_t i = 0; i < count; ++i) {
    receivers.push_back({ClientId{i}, profile_of(i % 3 == 0 ? 0 : 3, rng)});
  }
  return receivers;
}

// This is the property the reference implementation lacks: its weights depend on the order in which answers arrive.
RC_GTEST_PROP(MixingMatrix, DoesNotDependOnTheOrderOfParents, (std::uint16_t seed)) {
  Rng rng(seed);
  std::vector<Parent> parents = parents_of(rng, 8);
  const std::vector<Receiver> receivers = receivers_of(rng, 5);
  for (const char* preset : {"auto", "paper", "reference"}) {
    FeromaOptions options = feroma_preset(preset);
    const Matrix before = mixing_matrix(options, kPlane, {}, receivers, parents, Rng(1));
    std::vector<Parent> reversed(parents.rbegin(), parents.rend());
    const Matrix after = mixing_matrix(options, kPlane, {}, receivers, reversed, Rng(1));
    for (std::size_t r = 0; r < before.rows; ++r) {
      for (std::size_t c = 0; c < before.cols; ++c) {
        RC_ASSERT(std::abs(before.at(r, c) - after.at(r, before.cols - 1 - c)) < 1e-9);
      }
    }
  }
}

TEST(ProfileMoves, AreInUnitsOfNoiseAndOnlyOfThoseWhoWereThere) {
  Rng rng(3);
  const std::vector<Parent> parents = parents_of(rng, 10);
  // Client 0 has new data of its old kind, client 1 of the other one, client 2 the same profile; client 20 is new.
  const std::vector<Receiver> receivers{{ClientId{0}, profile_of(0, rng)},
                                        {ClientId{1}, profile_of(0, rng)},
                                        {ClientId{2}, parents[2].profile},
                                        {ClientId{20}, profile_of(0, rng)}};
  const auto moves = profile_moves(kPlane, receivers, parents);
  ASSERT_EQ(moves.size(), 4U);
  EXPECT_LT(moves[0].value(), 2);
  EXPECT_GT(moves[1].value(), 10);
  EXPECT_EQ(moves[2].value(), 0);
  EXPECT_FALSE(moves[3]);
  EXPECT_FALSE(profile_moves(kPlane, receivers, {})[0]);
}

// Parents are of two distributions, five of each.
TEST(MixingMatrix, UnderARobustFoldNobodyElseHasMoreThanItBears) {
  Rng rng(5);
  const std::vector<Parent> parents = parents_of(rng, 10);
  const std::vector<Receiver> near{{ClientId{3}, profile_of(3, rng)}, {ClientId{40}, profile_of(3, rng)}};
  FeromaOptions options;
  options.metric = Metric::euclidean;
  options.kernel = Kernel::inverse;
  const Matrix before = mixing_matrix(options, kPlane, {}, near, parents, Rng(1));
  EXPECT_GT(*std::max_element(before.values.begin(), before.values.end()), 0.25);
  options.fold = Fold::median;
  const Matrix after = mixing_matrix(options, kPlane, {}, near, parents, Rng(1));
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::size_t c = 0; c < parents.size(); ++c) {
      EXPECT_TRUE(parents[c].client == near[r].client || after.at(r, c) <= 0.2 + 1e-9) << r << " " << c;
    }
  }
}

RC_GTEST_PROP(MixingMatrix, RowsSumToOneForAnyNumberOfClients, (std::uint16_t seed)) {
  Rng rng(seed);
  const std::vector<Parent> parents = parents_of(rng, 1 + rng.below(12));
  const std::vector<Receiver> receivers = receivers_of(rng, 1 + rng.below(12));
  for (const char* preset : {"auto", "paper", "reference"}) {
    const Matrix mixing = mixing_matrix(feroma_preset(preset), kPlane, {}, receivers, parents, Rng(1));
    for (std::size_t r = 0; r < mixing.rows; ++r) {
      const auto row = mixing.row(r);
      RC_ASSERT(std::abs(std::accumulate(row.begin(), row.end(), 0.0) - 1) < 1e-12);
    }
  }
}

TEST(MixingMatrix, IdenticalProfilesGiveFedAvgsWeights) {
  Rng rng(3);
  const Profile same = profile_of(1, rng);
  const std::vector<Parent> parents{{ClientId{0}, nullptr, same, 100}, {ClientId{1}, nullptr, same, 300}};
  const std::vector<Receiver> receivers{{ClientId{0}, same}};
  const Matrix mixing = mixing_matrix(feroma_preset("auto"), kPlane, {}, receivers, parents, Rng(1));
  EXPECT_DOUBLE_EQ(mixing.at(0, 0), 0.25);
  EXPECT_DOUBLE_EQ(mixing.at(0, 1), 0.75);
}

TEST(MixingMatrix, AnUnchangedClientAloneInItsDistributionStaysPersonal) {
  Rng rng(3);
  std::vector<Parent> parents;
  std::vector<Receiver> receivers;
  for (std::uint32_t i = 0; i < 5; ++i) {
    const Profile profile = profile_of(10.0 * i, rng);
    parents.push_back({ClientId{i}, nullptr, profile, 100});
    receivers.push_back({ClientId{i}, profile});
  }
  const Matrix mixing = mixing_matrix(feroma_preset("auto"), kPlane, {}, receivers, parents, Rng(1));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_GT(mixing.at(i, i), 0.999);
    EXPECT_EQ(strategy_of(StrategyRule::effective, mixing.row(i)), Strategy::personal);
  }
}

TEST(MixingMatrix, GlobalShareIsTheMeanOfAllModels) {
  Rng rng(5);
  const std::vector<Parent> parents = parents_of(rng, 6);
  const std::vector<Receiver> receivers = receivers_of(rng, 6);
  FeromaOptions options;
  const Matrix none = mixing_matrix(options, kPlane, {}, receivers, parents, Rng(1));
  options.global_share = 0.25;
  const Matrix some = with_global_share(options, none, receivers, parents);
  options.global_share = 1;
  const Matrix all = with_global_share(options, none, receivers, parents);
  for (std::size_t r = 0; r < 6; ++r) {
    for (std::size_t c = 0; c < 6; ++c) {
      const double mean = (100.0 + static_cast<double>(c)) / 615;  // by the parents' sample counts
      EXPECT_NEAR(some.at(r, c), 0.75 * none.at(r, c) + 0.25 * mean, 1e-12);
      EXPECT_NEAR(all.at(r, c), mean, 1e-12);
    }
  }
}

TEST(MixingMatrix, TheMeanIsOfTheLastRoundsModels) {
  Rng rng(5);
  std::vector<Parent> parents = parents_of(rng, 4);
  for (Parent& parent : parents) {
    parent.round = 7;
  }
  parents[3].round = 2;  // kept for a distribution that is gone
  const std::vector<Receiver> receivers = receivers_of(rng, 2);
  FeromaOptions options;
  options.global_share = 1;
  const Matrix all = with_global_share(options, Matrix(2, 4, 0.25), receivers, parents);
  EXPECT_NEAR(all.at(0, 0), 100.0 / 303, 1e-12);
  EXPECT_EQ(all.at(0, 3), 0);
}

TEST(MixingMatrix, NobodyLearnsFromTheMeanOfOtherTasks) {
  Rng rng(5);
  std::vector<Parent> parents = parents_of(rng, 6);
  for (std::size_t i = 0; i < 6; ++i) {
    parents[i].profile.prior = i % 2 == 0 ? std::vector<float>{0.9F, 0.1F} : std::vector<float>{0.1F, 0.9F};
  }
  const std::vector<Receiver> receivers = receivers_of(rng, 6);
  const Matrix by_profile = mixing_matrix({}, kPlane, {}, receivers, parents, Rng(1));
  EXPECT_EQ(with_global_share({}, by_profile, receivers, parents).values, by_profile.values);
}

TEST(MixingMatrix, CountsMultiplyTheWeights) {
  Rng rng(5);
  const std::vector<Parent> parents = parents_of(rng, 6);
  const std::vector<Receiver> receivers = receivers_of(rng, 6);
  FeromaOptions options;
  const Matrix trained = mixing_matrix(options, kPlane, {}, receivers, parents, Rng(1));
  options.counts = Counts::none;
  const Matrix none = mixing_matrix(options, kPlane, {}, receivers, parents, Rng(1));
  options.counts = Counts::profiled;
  const Matrix profiled = mixing_matrix(options, kPlane, {}, receivers, parents, Rng(1));
  EXPECT_NE(trained.values, none.values);
  for (std::size_t i = 0; i < none.values.size(); ++i) {
    EXPECT_NEAR(profiled.values[i], none.values[i], 1e-12);  // every profile has 400 samples
  }
}

// The reference weighs a model by the size of its client's current profile; one that left keeps its old size.
TEST(MixingMatrix, ProfiledCountsAreThoseOfTheCurrentRound) {
  Rng rng(5);
  Profile same = profile_of(1, rng);
  const std::vector<Parent> parents{{ClientId{0}, nullptr, same, 7}, {ClientId{1}, nullptr, same, 7}};
  same.num_samples = 1200;
  const std::vector<Receiver> receivers{{ClientId{1}, same}};
  const Matrix mixing = mixing_matrix(feroma_preset("reference"), kPlane, {}, receivers, parents, Rng(1));
  EXPECT_DOUBLE_EQ(mixing.at(0, 0), 0.25);  // 400 of 1600
  EXPECT_DOUBLE_EQ(mixing.at(0, 1), 0.75);
}

TEST(MixingMatrix, SinkhornUsesEverySourceEquallyAfterCounts) {
  Rng rng(5);
  const std::vector<Parent> parents = parents_of(rng, 4);
  const std::vector<Receiver> receivers = receivers_of(rng, 4);
  FeromaOptions options = feroma_preset("paper");
  options.normalisation = Normalisation::sinkhorn;
  const ColumnSums sums = column_sums(mixing_matrix(options, kPlane, {}, receivers, parents, Rng(1)));
  EXPECT_NEAR(sums.min, 1, 1e-6);
  EXPECT_NEAR(sums.max, 1, 1e-6);
}

// Euclidean distances 0 and 3 * sqrt(4): softmax at temperature 2 weighs exp(0) and exp(-3).
TEST(MixingMatrix, TakesTemperatureThresholdAndWidthFromTheOptions) {
  const auto at = [](float x) { return Profile{{{x, x}, {1, 1}}, {{{x}, {1}}, {{x}, {1}}}, {0.5F, 0.5F}, 400}; };
  const std::vector<Parent> parents{{ClientId{0}, nullptr, at(0), 10}, {ClientId{1}, nullptr, at(3), 10}};
  const std::vector<Receiver> receivers{{ClientId{0}, at(0)}, {ClientId{1}, at(1)}};
  FeromaOptions options = feroma_preset("paper");
  options.metric = Metric::euclidean;
  options.temperature = 2;
  const Matrix soft = mixing_matrix(options, kPlane, {}, receivers, parents, Rng(1));
  EXPECT_NEAR(soft.at(0, 1) / soft.at(0, 0), std::exp(-3.0), 1e-9);
  options.threshold = 0.1;
  EXPECT_EQ(mixing_matrix(options, kPlane, {}, receivers, parents, Rng(1)).at(0, 1), 0);
  // Smallest distances 0 and 2: median 1, width 2 at twice it; the second row's energies are 4 / 8 and 16 / 8.
  options.threshold = 0;
  options.kernel = Kernel::gaussian;
  options.width = 2;
  const Matrix gauss = mixing_matrix(options, kPlane, {}, receivers, parents, Rng(1));
  EXPECT_NEAR(gauss.at(1, 1) / gauss.at(1, 0), std::exp(-1.5), 1e-6);
}

// The parents differ by no more than noise; only a receiver far away shows that the coordinate tells anything. With a
// noise floor of 2 / 400 and half its root as width, 0.08^2 is (0.0064 - 0.005) / (0.005 / 2) above the nearest.
TEST(MixingMatrix, ReliabilityIsLearntFromParentsAndReceivers) {
  const auto at = [](float x) { return Profile{{{x, 0}, {1, 1}}, {{{0}, {1}}, {{0}, {1}}}, {0.5F, 0.5F}, 400}; };
  const std::vector<Parent> parents{{ClientId{0}, nullptr, at(0), 10}, {ClientId{1}, nullptr, at(0.08F), 10}};
  const std::vector<Receiver> receivers{{ClientId{0}, at(0)}, {ClientId{2}, at(0)}, {ClientId{3}, at(5)}};
  const Matrix mixing = mixing_matrix({}, kPlane, {}, receivers, parents, Rng(1));
  EXPECT_NEAR(mixing.at(0, 1) / mixing.at(0, 0), std::exp(-0.56), 1e-5);
}

TEST(MixingMatrix, PositionalJoinMovesWeightsToOtherModels) {
  Rng rng(5);
  const std::vector<Parent> parents = parents_of(rng, 8);
  const std::vector<Receiver> receivers = receivers_of(rng, 4);
  FeromaOptions options = feroma_preset("reference");
  options.counts = Counts::none;
  const Matrix by_id = mixing_matrix(options, kPlane, {}, receivers, parents, Rng(1));
  options.join = Join::positional;
  const Matrix positional = mixing_matrix(options, kPlane, {}, receivers, parents, Rng(1));
  EXPECT_NE(by_id.values, positional.values);
  for (std::size_t r = 0; r < 4; ++r) {  // the same multiset of weights, on other models
    std::vector<double> a(by_id.row(r).begin(), by_id.row(r).end());
    std::vector<double> b(positional.row(r).begin(), positional.row(r).end());
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    EXPECT_EQ(a, b);
  }
}

TEST(Strategy, FollowsEffectiveParents) {
  EXPECT_EQ(strategy_of(StrategyRule::effective, std::vector<double>{0.9, 0.1, 0, 0}),
            Strategy::personal);  // 1.22 parents
  EXPECT_EQ(strategy_of(StrategyRule::effective, std::vector<double>{0.5, 0.5, 0, 0}), Strategy::clustered);  // 2
  EXPECT_EQ(strategy_of(StrategyRule::effective, std::vector<double>(4, 0.25)), Strategy::global);  // 4 > 0.8 * 4
  EXPECT_EQ(strategy_of(StrategyRule::effective, std::vector<double>{0.75, 0.25, 0, 0}),
            Strategy::clustered);  // 1.6 > 1.5
  EXPECT_EQ(strategy_of(StrategyRule::effective, std::vector<double>{0.4, 0.3, 0.3, 0}),
            Strategy::clustered);  // 2.94 < 3.2
  EXPECT_EQ(strategy_of(StrategyRule::effective, std::vector<double>{0.35, 0.3, 0.2, 0.15}),
            Strategy::global);  // 3.64 > 3.2
}

// As section 3.2.1 of the paper has it: exactly one weight, several, or all of them about the same.
TEST(Strategy, FollowsTheSupportOfTheWeights) {
  const auto of = [](const std::vector<double>& weights) { return strategy_of(StrategyRule::support, weights); };
  EXPECT_EQ(of({0, 1, 0, 0}), Strategy::personal);
  EXPECT_EQ(of({0.9, 0.1, 0, 0}), Strategy::clustered);
  EXPECT_EQ(of({0.35, 0.3, 0.2, 0.15}), Strategy::clustered);
  EXPECT_EQ(of({0.251, 0.25, 0.25, 0.249}), Strategy::global);
  EXPECT_EQ(of({1}), Strategy::personal);
}

// Eq. 4 with the threshold of the paper's ablation: the mean weight.
TEST(MixingMatrix, AThresholdMayBeAShareOfTheMeanWeight) {
  Rng rng(4);
  FeromaOptions options = feroma_preset("paper");
  options.threshold = 1;
  options.threshold_unit = ThresholdUnit::mean;
  const std::vector<Parent> parents = parents_of(rng, 6);
  const std::vector<Receiver> receivers = receivers_of(rng, 6);
  FeromaOptions off = options;
  off.threshold = 0;
  const Matrix all = mixing_matrix(off, kPlane, {}, receivers, parents, Rng(1));
  const Matrix some = mixing_matrix(options, kPlane, {}, receivers, parents, Rng(1));
  for (std::size_t r = 0; r < 6; ++r) {
    for (std::size_t c = 0; c < 6; ++c) {
      EXPECT_EQ(some.at(r, c) > 0, all.at(r, c) >= 1.0 / 6) << r << " " << c;
    }
  }
}

TEST(Trace, TellsWhoTookWhatFromWhom) {
  Rng rng(9);
  const std::vector<Parent> parents{{ClientId{3}, nullptr, profile_of(0, rng), 1},
                                    {ClientId{7}, nullptr, profile_of(0, rng), 1}};
  const std::vector<Receiver> receivers{{ClientId{1}, profile_of(0, rng)}, {ClientId{2}, profile_of(0, rng)}};
  Matrix mixing(2, 2);
  mixing.values = {1, 0, 0.5, 0.5};
  const RoundTrace trace = trace_of(StrategyRule::effective, receivers, parents, kPlane, mixing, mixing);
  EXPECT_EQ(trace.receivers, (std::vector<ClientId>{ClientId{1}, ClientId{2}}));
  EXPECT_EQ(trace.sources, (std::vector<ClientId>{ClientId{3}, ClientId{7}}));
  EXPECT_EQ(trace.strategies, (std::vector<Strategy>{Strategy::personal, Strategy::global}));
  EXPECT_EQ(trace.column_sum_min, 0.5);
  EXPECT_EQ(trace.column_sum_max, 1.5);
  EXPECT_NEAR(trace.contraction, 0.5, 1e-9);
  for (std::size_t r = 0; r < 2; ++r) {
    const std::vector<float> values = encode(receivers[r].profile, kPlane);
    const auto row = trace.profiles.row(r);
    EXPECT_TRUE(std::equal(values.begin(), values.end(), row.begin(), row.end()));
  }
}

/// Parents at 0, 1 and 10 on the first label-free mean; the class means say the opposite.
std::vector<Parent> three_on_a_line() {
  const auto at = [](float x, float u) {
    return Profile{{{x, 0}, {1, 1}}, {{{u}, {1}}, {{u}, {1}}}, {0.5F, 0.5F}, 400};
  };
  return {
      {ClientId{0}, nullptr, at(0, 50), 1}, {ClientId{1}, nullptr, at(1, 50), 1}, {ClientId{2}, nullptr, at(10, 0), 1}};
}

TEST(Assignment, ComparesWhatItIsToldToCompare) {
  const std::vector<Parent> parents = three_on_a_line();
  FeromaOptions options = feroma_preset("paper");
  Profile query = parents[0].profile;
  query.per_class = parents[2].profile.per_class;
  const auto nearest = [&](const BlockScaler& scaler, bool label_free) {
    return assignment_weights(options, AssignRule::nearest, kPlane, scaler, query, parents, label_free);
  };
  EXPECT_EQ(nearest({}, true), (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(nearest({}, false), (std::vector<double>{0, 0, 1}));
  EXPECT_EQ(nearest({{{0, 2, 0, 1000}}}, false), (std::vector<double>{1, 0, 0}));  // means made to count
  options.metric = Metric::cosine;
  options.assign_metric = Metric::euclidean;
  query.marginal.mean[0] = 4;
  EXPECT_EQ(nearest({}, true), (std::vector<double>{0, 1, 0}));  // by angle it would be the last
}

// Nearest other parents at 1, 1 and 9: median 1. At width 2 the energies of a query at 0 are 0, 1 / 8 and 100 / 8.
TEST(Assignment, KernelWidthComesFromTheParents) {
  const std::vector<Parent> parents = three_on_a_line();
  FeromaOptions options = feroma_preset("paper");
  options.assign_width = 2;
  const auto weights =
      assignment_weights(options, AssignRule::kernel, kPlane, {}, parents[0].profile, parents, /*label_free=*/true);
  EXPECT_NEAR(weights[1] / weights[0], std::exp(-1.0 / 8), 1e-9);
  EXPECT_NEAR(weights[2] / weights[0], std::exp(-100.0 / 8), 1e-9);
}

TEST(Assignment, AKnownClientIsNotGivenModelsOfOtherDistributionsWhereEverybodyIsAlone) {
  Rng rng(6);
  std::vector<Parent> parents;
  for (std::uint32_t i = 0; i < 5; ++i) {
    parents.push_back({ClientId{i}, nullptr, profile_of(i, rng), 100});
  }
  FeromaOptions options;
  options.assign_width = 2;  // twice the distance between distributions
  const auto weights = [&](double x) {
    return assignment_weights(options, AssignRule::kernel, kPlane, {}, profile_of(x, rng), parents, true);
  };
  EXPECT_GT(weights(2)[2], 0.99);
  const std::vector<double> stranger = weights(2.4);
  EXPECT_LT(stranger[2], 0.9) << "where nobody is like it, those around it speak together";
  EXPECT_GT(stranger[3], 0.1);
}

TEST(Assignment, NearestTakesOneModelAndKernelAveragesTheGroup) {
  Rng rng(9);
  const std::vector<Parent> parents = parents_of(rng, 6);
  const Profile query = profile_of(3, rng);
  const FeromaOptions options;
  const auto nearest = assignment_weights(options, AssignRule::nearest, kPlane, {}, query, parents, true);
  EXPECT_EQ(std::accumulate(nearest.begin(), nearest.end(), 0.0), 1);
  EXPECT_EQ(*std::max_element(nearest.begin(), nearest.end()), 1);
  const auto kernel = assignment_weights(options, AssignRule::kernel, kPlane, {}, query, parents, true);
  EXPECT_NEAR(kernel[1] + kernel[3] + kernel[5], 1, 1e-6);
  EXPECT_LT(*std::max_element(kernel.begin(), kernel.end()), 0.9);
}

}  // namespace
}  // namespace feroma
