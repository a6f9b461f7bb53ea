#include "algorithms/drift_pool.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>

#include "tests/expect_error.h"
#include "tests/toy_engine.h"

namespace feroma {
namespace {

constexpr std::int64_t kSamples = 100;

ParametersPtr model_of(float value) {
  Parameters params(make_layout(test::toy_model({1, 2, 2}, 2)));
  std::fill(params.values().begin(), params.values().end(), value);
  return share(std::move(params));
}

/// The hit rate of a model on a client's window.
using Rate = std::function<double(int model, std::uint32_t client, int window)>;

/// Drives a pool: all clients reach the next window together.
class Driver {
 public:
  explicit Driver(const FedDriftOptions& options, std::uint32_t clients = 4) : pool(options, model_of(0)) {
    for (std::uint32_t k = 0; k < clients; ++k) {
      windows_[ClientId{k}] = 0;
    }
    pool.start(windows_);
  }

  void step(const Rate& rate) {
    const std::vector<int> candidates = pool.candidates();
    Merits merits;
    for (auto& [client, window] : windows_) {
      ++window;
      for (int w = 0; w <= window; ++w) {
        if (w < window && !pool.knows(client, w)) {
          continue;
        }
        WindowMerits& own = merits[client][w];
        own.count = kSamples;
        own.guess = 0.1 * kSamples;
        for (const int model : candidates) {
          own.sums.push_back(rate(model, to_index(client), w) * kSamples);
        }
      }
    }
    pool.advance(candidates, windows_, merits);
  }

  /// One client comes within the step that is under way.
  void join(std::uint32_t client, int window, const Rate& rate) {
    const std::vector<int> candidates = pool.candidates_now();
    WindowMerits own{kSamples, {}};
    for (const int model : candidates) {
      own.sums.push_back(rate(model, client, window) * kSamples);
    }
    pool.join(candidates, {{ClientId{client}, window}}, {{ClientId{client}, {{window, own}}}});
  }

  /// The model of every client's newest window.
  [[nodiscard]] std::vector<int> current() const {
    std::vector<int> models;
    for (const auto& [client, window] : windows_) {
      models.push_back(pool.windows_of(client).at(window));
    }
    return models;
  }
  [[nodiscard]] std::size_t pairs() const {
    std::size_t pairs = 0;
    for (const auto& [client, window] : windows_) {
      pairs += pool.windows_of(client).size();
    }
    return pairs;
  }

  DriftPool pool;

 private:
  std::map<ClientId, int> windows_;
};

FedDriftOptions variant(FedDriftVariant variant) {
  FedDriftOptions options;
  options.variant = variant;
  return options;
}

double always_good(int, std::uint32_t, int) { return 0.9; }

using Ids = std::vector<int>;

RC_GTEST_PROP(DriftDistances, AreSymmetricNonNegativeAndZeroForAModelItself, (std::uint16_t seed)) {
  Rng rng(seed);
  Matrix merit(1 + rng.below(6), 0);
  merit = Matrix(merit.rows, merit.rows);
  for (double& value : merit.values) {
    value = rng.uniform(-3, 1);
  }
  const Matrix distances = drift_distances(merit);
  for (std::size_t i = 0; i < merit.rows; ++i) {
    RC_ASSERT(distances.at(i, i) == 0.0);
    for (std::size_t j = 0; j < merit.rows; ++j) {
      RC_ASSERT(distances.at(i, j) >= 0.0);
      RC_ASSERT(distances.at(i, j) == distances.at(j, i));
    }
  }
}

// Model 0 loses 0.3 on the data of 1, model 1 nothing on those of 0: they are 0.3 apart.
TEST(DriftDistances, AreTheLargerLoss) {
  Matrix merit(2, 2, 0.9);
  merit.at(0, 1) = 0.6;
  EXPECT_DOUBLE_EQ(drift_distances(merit).at(1, 0), 0.3);
}

TEST(DriftPool, BeginsWithAModelForEveryClientOrWithOne) {
  EXPECT_EQ(Driver(variant(FedDriftVariant::F)).current(), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(Driver(variant(FedDriftVariant::C)).current(), (Ids{0, 0, 0, 0}));
  EXPECT_EQ(Driver(variant(FedDriftVariant::eager)).current(), (Ids{0, 0, 0, 0}));
  FedDriftOptions small;
  small.pool = 3;
  EXPECT_EQ(Driver(small).current(), (Ids{0, 1, 2, 0}));
}

TEST(DriftPool, UntrainedModelsShareTheirWeights) {
  const Driver driver(variant(FedDriftVariant::F), 50);
  for (const auto& [id, model] : driver.pool.models()) {
    EXPECT_EQ(model, driver.pool.models().at(0));
  }
}

TEST(DriftPool, ModelsThatDoAsWellEverywhereBecomeOne) {
  Driver driver(variant(FedDriftVariant::F));
  driver.step(always_good);
  EXPECT_EQ(driver.current(), (Ids{0, 0, 0, 0}));
  EXPECT_EQ(driver.pool.models().size(), 1U);
  EXPECT_EQ(driver.pairs(), 8U);
}

/// Clients 0 and 1 have one concept, 2 and 3 another; a model knows that of the client it began with.
double two_concepts(int model, std::uint32_t client, int) { return (model < 2) == (client < 2) ? 0.9 : 0.2; }

TEST(DriftPool, ModelsOfDifferentConceptsStayApart) {
  Driver driver(variant(FedDriftVariant::F));
  driver.step(two_concepts);
  EXPECT_EQ(driver.current(), (Ids{0, 0, 2, 2}));
  EXPECT_EQ(driver.pool.models().size(), 2U);
}

// Each has its first window; at the second all choose the best of their concept, which is the lowest: 0 and 2 have
// three pairs, 1 and 3 one. 0 and 1 merge to (3 * 4 + 1 * 8) / 4 = 5.
TEST(DriftPool, MergingWeighsModelsByTheirWindows) {
  Driver driver(variant(FedDriftVariant::F));
  driver.pool.set_model(0, model_of(4));
  driver.pool.set_model(1, model_of(8));
  driver.step(two_concepts);
  EXPECT_FLOAT_EQ(driver.pool.models().at(0)->values()[0], 5);
  EXPECT_EQ(driver.pairs(), 8U);  // none is lost
}

TEST(DriftPool, MergeDeltaAndLinkageDecideWhatIsAlike) {
  // Models 0 to 3 in a row: each loses 0.08 per step to the right or left on the data of the others.
  const Rate chain = [](int model, std::uint32_t client, int) {
    return 0.9 - 0.08 * std::abs(model - static_cast<int>(client));
  };
  const auto models_left = [&](const FedDriftOptions& options) {
    Driver driver(options);
    driver.step(chain);
    return driver.pool.models().size();
  };
  FedDriftOptions options;
  EXPECT_EQ(models_left(options), 2U);  // {0, 1} and {2, 3}: 0 and 2 are 0.16 apart
  options.merge_delta = 0.25;           // 0 and 3 are 0.24 apart
  EXPECT_EQ(models_left(options), 1U);
  options.merge_delta = 0.05;
  EXPECT_EQ(models_left(options), 4U);
  options.merge_delta = 0.1;
  options.linkage = Linkage::single;
  EXPECT_EQ(models_left(options), 1U);
}

/// From window 2 on, clients 2 and 3 have labels that no model before them knew.
double swapped_half(int model, std::uint32_t client, int window) {
  const bool swapped = client >= 2 && window >= 2;
  return swapped == (model > 0) ? 0.9 : 0.1;
}

TEST(DriftPool, ASwapOnHalfTheClientsMakesModelsForThemThatMergeLater) {
  Driver driver(variant(FedDriftVariant::C));
  driver.step(swapped_half);
  EXPECT_EQ(driver.current(), (Ids{0, 0, 0, 0}));
  driver.step(swapped_half);
  EXPECT_EQ(driver.current(), (Ids{0, 0, 1, 2}));  // one for each at first
  EXPECT_EQ(driver.pool.models().at(1), driver.pool.models().at(0));
  EXPECT_EQ(driver.pool.candidates(), (Ids{0, 1, 2}));
  driver.step(swapped_half);
  EXPECT_EQ(driver.current(), (Ids{0, 0, 1, 1}));
  EXPECT_EQ(driver.pool.models().size(), 2U);
}

TEST(DriftPool, NoDriftIsSeenInTheSecondStep) {
  Driver driver(variant(FedDriftVariant::C));
  driver.step([](int, std::uint32_t, int) { return 0.0; });
  EXPECT_EQ(driver.pool.models().size(), 1U);
}

TEST(DriftPool, DeltaIsTheFallThatCounts) {
  for (const auto& [delta, models] : {std::pair{0.25, 5U}, std::pair{0.35, 1U}}) {
    FedDriftOptions options = variant(FedDriftVariant::C);
    options.delta = delta;
    options.pool = 10;
    Driver driver(options);
    driver.step([](int, std::uint32_t, int) { return 0.9; });
    driver.step([](int, std::uint32_t, int) { return 0.6; });
    EXPECT_EQ(driver.pool.models().size(), models);
  }
}

TEST(DriftPool, IsolationKeepsANewModelFromOthers) {
  FedDriftOptions options = variant(FedDriftVariant::C);
  options.isolation = 2;
  Driver driver(options);
  driver.step(swapped_half);
  driver.step(swapped_half);
  EXPECT_EQ(driver.pool.candidates(), (Ids{0}));
  driver.step(swapped_half);
  EXPECT_EQ(driver.current(), (Ids{0, 0, 1, 2}));
  EXPECT_EQ(driver.pool.candidates(), (Ids{0, 1, 2}));
  driver.step(swapped_half);
  EXPECT_EQ(driver.current(), (Ids{0, 0, 1, 1}));
}

TEST(DriftPool, EagerClientsShareANewModelAndNothingMerges) {
  Driver driver(variant(FedDriftVariant::eager));
  driver.step(swapped_half);
  driver.step(swapped_half);
  EXPECT_EQ(driver.current(), (Ids{0, 0, 1, 1}));
  driver.step(always_good);
  EXPECT_EQ(driver.pool.models().size(), 2U);
}

TEST(DriftPool, AFullPoolDropsTheModelUnusedLongest) {
  FedDriftOptions options = variant(FedDriftVariant::C);
  options.pool = 2;
  Driver driver(options, 1);
  driver.step(always_good);
  const auto falls = [](int, std::uint32_t, int) { return 0.1; };
  driver.step(falls);
  EXPECT_EQ(driver.current(), (Ids{1}));
  EXPECT_EQ(driver.pairs(), 3U);
  driver.step([](int model, std::uint32_t, int window) { return window < 2 || model == 1 ? 0.9 : 0.1; });
  EXPECT_EQ(driver.current(), (Ids{1}));
  driver.step(falls);  // 0.9 to 0.1: drifts; the lowest wins the tie, so it copies 0 and 1 is not in use
  EXPECT_EQ(driver.current(), (Ids{2}));
  EXPECT_FALSE(driver.pool.models().contains(1));
  EXPECT_EQ(driver.pairs(), 3U);  // windows 0 and 1 of model 0 and the newest
}

TEST(DriftPool, APoolInFullUseLeavesClientsWhereTheyAre) {
  FedDriftOptions options = variant(FedDriftVariant::C);
  options.pool = 1;
  Driver driver(options);
  driver.step(swapped_half);
  driver.step(swapped_half);
  EXPECT_EQ(driver.current(), (Ids{0, 0, 0, 0}));
}

TEST(DriftPool, AClientThatReturnsToAnOldConceptReturnsToItsModel) {
  Driver driver(variant(FedDriftVariant::C));
  const Rate back_and_forth = [](int model, std::uint32_t client, int window) {
    const bool swapped = client >= 2 && (window == 2 || window == 3);
    return swapped == (model > 0) ? 0.9 : 0.1;
  };
  for (int i = 0; i < 4; ++i) {
    driver.step(back_and_forth);
  }
  EXPECT_EQ(driver.current(), (Ids{0, 0, 0, 0}));
  EXPECT_EQ(driver.pool.windows_of(ClientId{3}), (std::map<int, int>{{0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 0}}));
}

TEST(DriftPool, AStepBeginsWhereAKnownClientReachesANewWindow) {
  Driver driver(variant(FedDriftVariant::F));
  EXPECT_FALSE(driver.pool.begins_step({}));
  EXPECT_FALSE(driver.pool.begins_step({{ClientId{9}, 0}})) << "a newcomer";
  EXPECT_FALSE(driver.pool.begins_step({{ClientId{9}, 3}})) << "a newcomer with data that nobody has yet";
  EXPECT_TRUE(driver.pool.begins_step({{ClientId{9}, 3}, {ClientId{0}, 1}}));
  driver.step(two_concepts);
  EXPECT_FALSE(driver.pool.begins_step({{ClientId{0}, 1}})) << "it is late";
  EXPECT_TRUE(driver.pool.begins_step({{ClientId{0}, 2}}));
}

TEST(DriftPool, WhoComesWithinAStepTakesTheBestModelAndChangesNothingElse) {
  Driver driver(variant(FedDriftVariant::F));
  driver.step(two_concepts);
  const Ids before = driver.current();
  const auto models = driver.pool.models();
  driver.join(7, 1, [](int model, std::uint32_t, int) { return model == 2 ? 0.3 : 0.2; });
  EXPECT_EQ(driver.pool.windows_of(ClientId{7}), (std::map<int, int>{{1, 2}}));
  EXPECT_EQ(driver.current(), before);
  EXPECT_EQ(driver.pool.models(), models) << "nothing merges, though all do as badly";
  EXPECT_EQ(driver.pool.current_models().size(), 5U);
  EXPECT_FALSE(driver.pool.begins_step({{ClientId{7}, 1}}));
}

TEST(DriftPool, WhoComesBackWithinAStepIsTestedForDriftOrPlaced) {
  for (const Latecomers latecomers : {Latecomers::tested, Latecomers::placed}) {
    FedDriftOptions options = variant(FedDriftVariant::C);
    options.pool = 10;
    options.latecomers = latecomers;
    Driver driver(options);
    driver.step(always_good);
    const std::size_t fresh = latecomers == Latecomers::tested ? 1 : 0;
    driver.join(2, 5, [](int, std::uint32_t, int) { return 0.1; });
    EXPECT_EQ(driver.pool.models().size(), 1 + fresh);
    EXPECT_EQ(driver.pool.windows_of(ClientId{2}).at(5), static_cast<int>(fresh));
    driver.join(3, 5, [](int, std::uint32_t, int) { return 0.85; });  // a little worse, which is no drift
    EXPECT_EQ(driver.pool.windows_of(ClientId{3}).at(5), 0);
    EXPECT_EQ(driver.pool.models().size(), 1 + fresh);
  }
}

TEST(DriftPool, AModelIsInUseWhileItIsSomebodysNewest) {
  FedDriftOptions options = variant(FedDriftVariant::eager);
  options.pool = 10;
  Driver driver(options);
  driver.step(always_good);
  EXPECT_EQ(driver.pool.in_use(), std::set<int>{0});
  driver.step([](int, std::uint32_t, int) { return 0.1; });  // everybody drifts
  EXPECT_EQ(driver.pool.models().size(), 2U);
  EXPECT_EQ(driver.pool.in_use(), std::set<int>{1});
}

TEST(DriftPool, IsolationHoldsWithinTheStep) {
  FedDriftOptions options = variant(FedDriftVariant::C);
  options.pool = 10;
  Driver driver(options);
  driver.step(swapped_half);
  driver.step(swapped_half);
  EXPECT_EQ(driver.pool.candidates_now(), (Ids{0})) << "the new models are their clients' own";
  EXPECT_EQ(driver.pool.candidates(), (Ids{0, 1, 2}));
  driver.join(7, 2, always_good);
  EXPECT_EQ(driver.pool.windows_of(ClientId{7}).at(2), 0);
  driver.join(3, 6, always_good);  // it has one of them
  EXPECT_EQ(driver.pool.windows_of(ClientId{3}).at(6), 2);
}

// All models do as badly on all data, so they cannot be told apart; a guess gets 0.1.
TEST(DriftPool, ModelsThatHaveLearnedNothingMergeUnlessSkillIsNeeded) {
  const auto models_left = [](double needs, double rate) {
    FedDriftOptions options;
    options.merge_needs = needs;
    Driver driver(options);
    driver.step([&](int, std::uint32_t, int) { return rate; });
    return driver.pool.models().size();
  };
  EXPECT_EQ(models_left(0, 0.15), 1U);
  EXPECT_EQ(models_left(0.1, 0.15), 4U);
  EXPECT_EQ(models_left(0.1, 0.25), 1U);
  EXPECT_EQ(models_left(0.2, 0.25), 4U);
}

TEST(DriftPool, RefusesAStateThatDoesNotFitTogether) {
  const auto read = [](const std::function<void(ModelWriter&)>& write) {
    ArchiveWriter archive;
    ModelWriter writer(archive);
    write(writer);
    DriftPool pool({}, model_of(0));
    ArchiveReader reader(archive.bytes(), "state");
    ModelReader models(reader, make_layout(test::toy_model({1, 2, 2}, 2)));
    pool.load(models);
    return pool.models().size();
  };
  const auto put = [](ModelWriter& out, std::initializer_list<int> values) {
    for (const int value : values) {
      out.out().put<std::int32_t>(value);
    }
  };
  const auto refuses = [&](std::string_view part, const std::function<void(ModelWriter&)>& write) {
    expect_error(ErrorCode::invalid_data, part, [&] { return read(write); });
  };
  /// Steps 2, window 1, next model 3; one model; clients to come.
  const auto head = [&](ModelWriter& out, int model, int used, std::uint64_t members) {
    put(out, {2, 1, 3});
    out.out().put<std::uint64_t>(1);
    put(out, {model, used});
    out.put(model_of(1));
    out.out().put(members);
  };
  const auto member = [&](ModelWriter& out, double merit, std::uint64_t windows) {
    out.out().put(ClientId{4});
    out.out().put(true);
    out.out().put(merit);
    put(out, {0});
    out.out().put(windows);
  };
  EXPECT_EQ(read([&](ModelWriter& out) {
              head(out, 2, 1, 1);
              member(out, 0.5, 2);
              put(out, {0, 2, 1, 2});
            }),
            1U);
  refuses("time steps must be >= 0, got -1", [&](ModelWriter& out) { put(out, {-1, 0, 0}); });
  refuses("the window reached must be >= 0, got -2", [&](ModelWriter& out) { put(out, {1, -2, 0}); });
  refuses("there must be models from the first step on, got 0", [&](ModelWriter& out) {
    put(out, {1, 0, 0});
    out.out().put<std::uint64_t>(0);
  });
  refuses("numbers of their own below the next, got 3", [&](ModelWriter& out) { head(out, 3, 1, 0); });
  refuses("chosen in a step so far, got 7", [&](ModelWriter& out) { head(out, 2, 7, 0); });
  refuses("a merit must be finite", [&](ModelWriter& out) {
    head(out, 2, 1, 1);
    member(out, std::nan(""), 1);
  });
  refuses("a client must have a window, got 0", [&](ModelWriter& out) {
    head(out, 2, 1, 1);
    member(out, 0.5, 0);
  });
  refuses("belong to a model that exists, got 1", [&](ModelWriter& out) {
    head(out, 2, 1, 1);
    member(out, 0.5, 1);
    put(out, {0, 1});
  });
  refuses("windows must be >= 0, each once, got 0", [&](ModelWriter& out) {
    head(out, 2, 1, 1);
    member(out, 0.5, 2);
    put(out, {0, 2, 0, 2});
  });
  refuses("a client must be there once, got 4", [&](ModelWriter& out) {
    head(out, 2, 1, 2);
    member(out, 0.5, 1);
    put(out, {0, 2});
    member(out, 0.5, 1);
  });
}

TEST(DriftPool, SavedAndLoadedItIsTheSame) {
  FedDriftOptions options = variant(FedDriftVariant::C);
  options.isolation = 2;
  Driver driver(options);
  driver.step(swapped_half);
  driver.step(swapped_half);
  ArchiveWriter archive;
  ModelWriter writer(archive);
  driver.pool.save(writer);
  Driver other(options);
  other.step(always_good);
  other.step(always_good);  // where its clients are by now
  ArchiveReader reader(archive.bytes(), "state");
  ModelReader models(reader, make_layout(test::toy_model({1, 2, 2}, 2)));
  other.pool.load(models);
  reader.expect_end();
  for (int i = 0; i < 3; ++i) {
    driver.step(swapped_half);
    other.step(swapped_half);
    EXPECT_EQ(driver.current(), other.current());
  }
}

}  // namespace
}  // namespace feroma
