#include <gtest/gtest.h>

#include "algorithms/cola_agents.h"
#include "feroma/algorithms/registry.h"
#include "tests/algorithms/lenet_cost.h"

namespace feroma {
namespace {

constexpr std::int64_t kModelBytes = test::kLeNetBytes;
constexpr std::int64_t kPass = test::kCostSamples;  // every sample once through a model
constexpr std::int64_t kNumber = 8;                 // a whole number on the wire
constexpr std::int64_t kPrototypes = 4 * 10 * 84;   // ten classes, what the last layer of LeNet-5 reads

/// One row of the table of costs: a client's round, with two local epochs.
struct CostRow {
  std::string fact;
  std::string method;
  test::LeNetRounds rounds;
  test::RoundCost cost;
};

void PrintTo(const CostRow& row, std::ostream* out) { *out << row.fact; }

std::unique_ptr<Algorithm> make_method(const std::string& name) {
  Problems problems;
  SettingsReader reader(parse_settings("[[algorithm]]\nname = '" + name + "'", "test"), problems);
  const AlgorithmPlan plan = plan_algorithm(reader, "algorithm.0", problems);
  problems.raise();
  return plan.make();
}

class CostTable : public testing::TestWithParam<CostRow> {};

TEST_P(CostTable, HoldsForLeNet5) {
  const CostRow& row = GetParam();
  const test::RoundCost cost = test::lenet_cost(*make_method(row.method), row.rounds);
  EXPECT_EQ(cost.bytes_down, row.cost.bytes_down);
  EXPECT_EQ(cost.bytes_up, row.cost.bytes_up);
  EXPECT_EQ(cost.passes.forward, row.cost.passes.forward);
  EXPECT_EQ(cost.passes.backward, row.cost.passes.backward);
}

/// One model each way, with the number of examples, and two epochs: what everything is compared with.
constexpr test::RoundCost kFedAvg{kModelBytes, kModelBytes + kNumber, {2 * kPass, 2 * kPass}};

constexpr test::RoundCost trains_times(std::int64_t times) {
  return {kModelBytes, kModelBytes + kNumber, {times * 2 * kPass, times * 2 * kPass}};
}

test::LeNetRounds until(Round last, Round scheduled = 20) { return {last, 1, {}, scheduled}; }

INSTANTIATE_TEST_SUITE_P(
    EveryMethod, CostTable,
    testing::Values(
        CostRow{"FedAvg", "fedavg", {}, kFedAvg},
        // Three models both ways, with the client's shares; the label priors of each go both ways too.
        CostRow{
            "FedEm", "fedem", {}, {3 * kModelBytes, 3 * kModelBytes + 3 * 4 + kNumber, {(3 + 6) * kPass, 6 * kPass}}},
        CostRow{"FedRc",
                "fedrc",
                {},
                {3 * kModelBytes + 3 * 10 * 4,
                 3 * kModelBytes + 3 * 10 * 4 + 3 * 4 + kNumber,
                 {(3 + 6) * kPass, 6 * kPass}}},
        CostRow{"FesemOnceItsClientsHaveAHome", "fesem", until(2), kFedAvg}, CostRow{"Cfl", "cfl", {}, kFedAvg},
        CostRow{"Ifca", "ifca", {}, {3 * kModelBytes, kModelBytes + 2 * kNumber, {(3 + 2) * kPass, 2 * kPass}}},
        // A step of time with three models: all of them down and scored on both windows, of which one model is trained.
        // Beside them: the windows to score; which model was kept, windows and their models; the window's number,
        // merits, guesses and counts.
        CostRow{"FedDriftWhereATimeStepBegins",
                "feddrift",
                {2, 3, {0, 1}},
                {3 * kModelBytes + 2 * kNumber + 5 * kNumber,
                 kModelBytes + kNumber + kNumber + 4 * (3 * 2) + 4 * 2 + 2 * kNumber,
                 {3 * 2 * kPass + 2 * 2 * kPass, 2 * 2 * kPass}}},
        CostRow{"FedDriftWithinATimeStep",
                "feddrift",
                {2, 3},
                {kModelBytes + 2 * kNumber, kModelBytes + 2 * kNumber, {2 * kPass, 2 * kPass}}},
        CostRow{"PFedMe", "pfedme", {}, trains_times(5)}, CostRow{"Apfl", "apfl", {}, trains_times(2)},
        CostRow{"AtpWhileItTrains", "atp", {}, kFedAvg},
        // Rates for ten tensors; two gradients of every batch.
        CostRow{"AtpWhileItLearnsRates", "atp", until(3, 1), {10 * 4, 10 * 4, {2 * kPass, 2 * kPass}}},
        CostRow{"Cola", "cola", {}, kFedAvg},
        // Prototypes and their classes both ways, and how many samples are behind each; one more pass makes them.
        CostRow{"FedProto",
                "fedproto",
                until(2),
                {kPrototypes + 10 * kNumber, kPrototypes + 20 * kNumber, {(2 + 1) * kPass, 2 * kPass}}},
        // The model, the mean update and whose it is, both with the second half of a wider head (850 numbers), and
        // prototypes.
        // Each of the six steps also trains on 64 made-up pictures.
        CostRow{"FedGps",
                "fedgps",
                until(2),
                {2 * (kModelBytes + 4 * 850) + 2 * kNumber + kPrototypes + 10 * kNumber,
                 kModelBytes + 4 * 850 + kPrototypes + 20 * kNumber,
                 {2 * kPass + 6 * 64, 2 * kPass + 6 * 64}}},
        // The score network has 11 028 weights; a changed copy of every batch is trained on too.
        CostRow{"Foogd",
                "foogd",
                {},
                {kModelBytes + 4 * 11028, kModelBytes + 4 * 11028 + kNumber, {2 * 2 * kPass, 2 * 2 * kPass}}},
        // Embeddings, class counts, and how many samples they were drawn from.
        CostRow{"ShiftExWhereItGetsItsEncoder",
                "shiftex",
                until(2),
                {kModelBytes, kModelBytes + kNumber + 4 * (10 * 84 + 10) + kNumber, {(2 + 1) * kPass, 2 * kPass}}},
        CostRow{"ShiftExWhileNothingChanges", "shiftex", until(4), kFedAvg},
        CostRow{"Scaffold", "scaffold", {}, {2 * kModelBytes, 2 * kModelBytes + kNumber, {2 * kPass, 2 * kPass}}},
        CostRow{"FedProx", "fedprox", {}, kFedAvg}, CostRow{"FedAdam", "fedadam", {}, kFedAvg},
        CostRow{"Ditto", "ditto", {}, trains_times(2)}, CostRow{"Local", "local", {}, {0, 0, {2 * kPass, 2 * kPass}}}),
    [](const auto& row) { return row.param.fact; });

// A factor and an offset for every channel but those of the output, and mean and variance of the first layer's six.
TEST(ColaCost, AVectorHasLessThanAHundredthOfLeNet5) {
  const ModelSpec model = lenet5({1, 28, 28}, 10);
  Samples samples;
  samples.shape = model.input;
  samples.labels = {0, 1};
  samples.pixels.resize(2 * 28 * 28, 9);
  Recipe recipe;
  recipe.transform_of_class.resize(10);
  recipe.label_of_class = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::vector<Recipe> recipes{recipe};
  const View view{&samples, recipes, samples.shape, {{0, 0}, {1, 0}}};
  Stem stem(model);
  const DomainVector vector{ChannelAffine(*make_layout(model)).identity(),
                            stem.statistics(initialise(model, Rng(1)), view)};
  EXPECT_EQ(vector.bytes(), 4 * (2 * (6 + 16 + 120 + 84) + 2 * 6));
}

}  // namespace
}  // namespace feroma
