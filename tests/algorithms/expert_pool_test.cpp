#include "algorithms/expert_pool.h"

#include <gtest/gtest.h>

#include "tests/toy_engine.h"

namespace feroma {
namespace {

constexpr int kWidth = 4;
constexpr double kThreshold = 0.02;  // what 80 rows of one distribution hardly exceed

LatentMemory data_around(double mean, std::uint64_t seed, std::vector<double> histogram = {50, 50}) {
  Rng rng(seed);
  LatentMemory data;
  for (int i = 0; i < 80 * kWidth; ++i) {
    data.embeddings.push_back(static_cast<float>(mean + rng.normal()));
  }
  data.seen = 80;
  data.histogram = std::move(histogram);
  return data;
}

ParametersPtr initial_model() { return share(initialise(test::toy_model({1, 2, 2}, 2), Rng(1))); }

class Experts : public testing::Test {
 protected:
  void begin(const ShiftExOptions& options = {}) {
    pool = ExpertPool(options, initial_model(), kWidth, Rng(9));
    std::map<ClientId, LatentMemory> clients;
    for (std::uint32_t k = 0; k < 4; ++k) {
      clients[ClientId{k}] = data_around(0, k);
    }
    pool.introduce(clients, in_turn);
  }
  void shift(const std::map<std::uint32_t, LatentMemory>& clients) {
    std::map<ClientId, ShiftReport> shifted;
    for (const auto& [client, data] : clients) {
      shifted[ClientId{client}] = {data, kThreshold};
    }
    pool.reassign(shifted, in_turn);
  }
  [[nodiscard]] std::vector<std::size_t> assigned() const {
    std::vector<std::size_t> experts;
    for (std::uint32_t k = 0; k < 4; ++k) {
      experts.push_back(pool.expert_of(ClientId{k}));
    }
    return experts;
  }

  ExpertPool pool;
};

using Numbers = std::vector<std::size_t>;

TEST_F(Experts, BeginAsOne) {
  begin();
  EXPECT_EQ(assigned(), (Numbers{0, 0, 0, 0}));
  EXPECT_EQ(pool.experts().size(), 1U);
  // Two rows differ by a normal with variance 2 in each of 4 coordinates: a median distance near sqrt(2 * 3.36) = 2.6.
  EXPECT_NEAR(*pool.bandwidth(), 2.6, 0.15);
}

TEST_F(Experts, AreMadeForNewDataAndUsedAgainForOld) {
  begin();
  shift({{2, data_around(2, 12)}, {3, data_around(2, 13)}});
  EXPECT_EQ(assigned(), (Numbers{0, 0, 1, 1}));
  EXPECT_EQ(pool.experts()[1].model, pool.experts()[0].model);  // a copy of the nearest
  shift({{2, data_around(0, 22)}, {1, data_around(2, 21)}});
  EXPECT_EQ(assigned(), (Numbers{0, 1, 0, 1}));
  EXPECT_EQ(pool.experts().size(), 2U);
}

TEST_F(Experts, ClientsThatShiftDifferentlyGetDifferentOnes) {
  begin();
  shift({{0, data_around(2, 10)}, {1, data_around(-2, 11)}, {2, data_around(2, 12)}, {3, data_around(-2, 13)}});
  EXPECT_EQ(assigned(), (Numbers{1, 2, 1, 2}));
}

TEST_F(Experts, CostDecidesWhetherOneIsMade) {
  ShiftExOptions options;
  options.create_cost = 1e9;
  begin(options);
  shift({{0, data_around(5, 10)}});
  EXPECT_EQ(pool.experts().size(), 1U);
  options.create_cost = 0;
  begin(options);
  shift({{0, data_around(0, 10)}});
  EXPECT_EQ(pool.experts().size(), 2U);
}

TEST_F(Experts, UnlikeLabelsCost) {
  for (const auto& [weight, experts] : {std::pair{0.5, 2U}, std::pair{0.0, 1U}}) {
    ShiftExOptions options;
    options.label_weight = weight;
    begin(options);
    shift({{0, data_around(0, 10, {100, 0})}});
    EXPECT_EQ(pool.experts().size(), experts) << weight;
  }
}

TEST_F(Experts, AreNoMoreThanAllowed) {
  ShiftExOptions options;
  options.experts = 2;
  begin(options);
  shift({{0, data_around(2, 10)}});
  shift({{1, data_around(-3, 11)}, {2, data_around(1.9, 12)}});
  EXPECT_EQ(pool.experts().size(), 2U);
  EXPECT_EQ(assigned(), (Numbers{1, 0, 1, 0}));  // the nearest of those there are
}

TEST_F(Experts, ThatHaveSeenAndBecomeTheSameMerge) {
  ShiftExOptions options;
  options.create_cost = 0;
  options.samples = 80;
  begin(options);
  const LatentMemory same = data_around(3, 10);
  shift({{0, same}});
  shift({{1, same}});
  EXPECT_EQ(assigned(), (Numbers{1, 2, 0, 0}));  // one of this step is left alone
  const ParametersPtr weights = pool.experts()[1].model;
  Parameters other = weights->clone();
  other.values()[0] += 0.01F;
  pool.expert(2).model = share(std::move(other));
  shift({{3, data_around(-5, 13)}});
  EXPECT_EQ(assigned(), (Numbers{1, 1, 0, 2}));
  EXPECT_EQ(pool.experts().size(), 3U);
  EXPECT_NEAR(pool.experts()[1].model->values()[0], weights->values()[0] + 0.005F, 1e-6);  // 80 rows each
  EXPECT_EQ(pool.experts()[1].memory.seen, 160);
}

TEST_F(Experts, WithUnlikeWeightsStayApart) {
  ShiftExOptions options;
  options.create_cost = 0;
  options.merge_cosine = 1;
  begin(options);
  const LatentMemory same = data_around(3, 10);
  shift({{0, same}});
  shift({{1, same}});
  shift({{3, data_around(-5, 13)}});
  EXPECT_EQ(pool.experts().size(), 4U);
}

TEST_F(Experts, NewcomersJoinTheNearest) {
  begin();
  shift({{2, data_around(2, 12)}, {3, data_around(2, 13)}});
  pool.introduce({{ClientId{7}, data_around(2, 17)}, {ClientId{8}, data_around(-1, 18)}}, in_turn);
  EXPECT_EQ(pool.expert_of(ClientId{7}), 1U);
  EXPECT_EQ(pool.expert_of(ClientId{8}), 0U);
  EXPECT_EQ(pool.expert_of(ClientId{99}), 0U);
  EXPECT_EQ(pool.experts().size(), 2U);
}

TEST_F(Experts, NearestGoesByEmbeddingsAlone) {
  EXPECT_FALSE(ExpertPool({}, initial_model(), kWidth, Rng(9)).nearest({}));
  begin();
  shift({{2, data_around(2, 12)}});
  EXPECT_EQ(pool.nearest(data_around(2, 30).rows(kWidth)), 1U);
  EXPECT_EQ(pool.nearest(data_around(0, 31).rows(kWidth)), 0U);
}

TEST_F(Experts, SavedAndLoadedGoOnAlike) {
  begin();
  shift({{2, data_around(2, 12)}});
  ArchiveWriter archive;
  ModelWriter writer(archive);
  pool.save(writer);
  ExpertPool other({}, initial_model(), kWidth, Rng(9));
  ArchiveReader reader(archive.bytes(), "state");
  ModelReader models(reader, make_layout(test::toy_model({1, 2, 2}, 2)));
  other.load(models);
  reader.expect_end();
  const std::map<ClientId, ShiftReport> next{{ClientId{1}, {data_around(2, 40), kThreshold}}};
  pool.reassign(next, in_turn);
  other.reassign(next, in_turn);
  for (std::size_t e = 0; e < 2; ++e) {
    EXPECT_EQ(pool.experts()[e].memory.embeddings, other.experts()[e].memory.embeddings);
    EXPECT_EQ(pool.experts()[e].memory.histogram, other.experts()[e].memory.histogram);
  }
  EXPECT_EQ(other.expert_of(ClientId{1}), 1U);
  EXPECT_EQ(pool.bandwidth(), other.bandwidth());
}

// 300 rows numbered in their order through a memory of 30: a row of any third stays with the same chance.
TEST(LatentMemory, KeepsEveryRowWithTheSameChance) {
  std::array<int, 3> kept{};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    LatentMemory memory;
    for (int part = 0; part < 3; ++part) {
      LatentMemory more{{}, 100, {1}};
      more.embeddings.assign(100, static_cast<float>(part));
      memory.add(more, 1, 30, rng);
    }
    EXPECT_EQ(memory.embeddings.size(), 30U);
    EXPECT_EQ(memory.seen, 300);
    EXPECT_EQ(memory.histogram, (std::vector<double>{3}));
    for (const float part : memory.embeddings) {
      kept[static_cast<std::size_t>(part)] += 1;
    }
  }
  for (const int count : kept) {
    EXPECT_NEAR(count, 2000, 150);  // 6000 in all; four deviations of a binomial
  }
}

// A sub-sample of 20 rows that stands for 900 samples beside one of 20 that stands for 100: nine rows in ten are its.
TEST(LatentMemory, CountsWhatASubSampleStandsFor) {
  int kept = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    LatentMemory memory{std::vector<float>(20, 0.0F), 100, {1}};
    memory.add({std::vector<float>(20, 1.0F), 900, {1}}, 1, 20, rng);
    EXPECT_EQ(memory.embeddings.size(), 20U);
    EXPECT_EQ(memory.seen, 1000);
    kept += static_cast<int>(std::count(memory.embeddings.begin(), memory.embeddings.end(), 1.0F));
  }
  EXPECT_NEAR(kept, 3600, 80);  // 4000 in all; four deviations of a binomial
}

TEST(LatentMemory, KeepsAllThatFitAndRowsWhole) {
  Rng rng(1);
  LatentMemory memory{{1, 2, 3, 4}, 2, {1, 1}};
  memory.add({{5, 6}, 1, {1, 0}}, 2, 3, rng);
  EXPECT_EQ(memory.embeddings, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  memory.add({{7, 8}, 1, {1, 0}}, 2, 2, rng);
  ASSERT_EQ(memory.embeddings.size(), 4U);
  for (std::size_t row = 0; row < 2; ++row) {  // a row stays in one piece
    EXPECT_EQ(memory.embeddings[2 * row + 1], memory.embeddings[2 * row] + 1);
  }
}

// Every comparison is a task of its own, so that the order of the tasks changes nothing and no thread waits for all.
TEST_F(Experts, AreTheSameInWhateverOrderTheWorkIsDone) {
  std::size_t most_tasks = 0;
  const Parallel backwards = [&](std::size_t count, const std::function<void(std::size_t)>& task) {
    most_tasks = std::max(most_tasks, count);
    for (std::size_t i = count; i-- > 0;) {
      task(i);
    }
  };
  const auto state_of = [&](const Parallel& parallel) {
    begin();
    pool.reassign({{ClientId{1}, {data_around(2, 12), kThreshold}}, {ClientId{2}, {data_around(-2, 13), kThreshold}}},
                  parallel);
    most_tasks = 0;
    pool.introduce({{ClientId{7}, data_around(2, 17)}, {ClientId{8}, data_around(-1, 18)}}, parallel);
    ArchiveWriter archive;
    ModelWriter writer(archive);
    pool.save(writer);
    return archive.take();
  };
  const Bytes in_order = state_of(in_turn);
  EXPECT_EQ(most_tasks, 0U);
  EXPECT_EQ(state_of(backwards), in_order);
  EXPECT_EQ(most_tasks, 3U) << "one for each expert";
  EXPECT_EQ(pool.experts().size(), 3U);
}

TEST(WeightCosine, IsOneForAModelItselfAndLeavesStatisticsOut) {
  const ModelSpec model{"norm", {1, 2, 2}, 2, {BatchNorm{"bn"}, Flatten{}, Linear{"fc", 2}}};
  const Parameters a = initialise(model, Rng(1));
  Parameters b = a.clone();
  for (std::size_t i = 0; i < a.layout().segments.size(); ++i) {
    if (a.layout().segments[i].kind == SegmentKind::buffer) {
      b.segment(i)[0] = 99;
    }
  }
  EXPECT_NEAR(weight_cosine(a, b), 1, 1e-12);
  for (float& value : b.values()) {
    value = -value;
  }
  EXPECT_NEAR(weight_cosine(a, b), -1, 1e-12);
}

}  // namespace
}  // namespace feroma
