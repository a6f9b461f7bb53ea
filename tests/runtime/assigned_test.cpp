// Clients that take no part in training, served from what a run left behind.
#include "feroma/runtime/assigned.h"

#include <gtest/gtest.h>

#include "feroma/core/archive.h"
#include "feroma/core/files.h"
#include "feroma/data/catalog.h"
#include "feroma/evaluation/test_scores.h"
#include "feroma/runtime/round_loop.h"
#include "feroma/runtime/run.h"
#include "feroma/runtime/visitor_ledger.h"
#include "feroma/store/checkpoint.h"
#include "runtime/store_state.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"

namespace feroma {
namespace {

constexpr int kClients = 6;

class AssignedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (locate_dataset(find_dataset("fmnist"), {}).empty()) {
      GTEST_SKIP() << "Fashion-MNIST is missing (Debian: dataset-fashion-mnist): assignments are NOT tested";
    }
  }

  ResultRecord run(const std::string& tables) {
    experiment = read_experiment(parse_settings(R"(
[scenario]
dataset = "fmnist"
shift = "covariate"
clients = 6
rounds = 4
drifts = 2
samples_per_client = 150
[training]
model = "mlp"
local_epochs = 1
)" + tables,
                                                "test"));
    RunOptions options;
    options.out = folder / "run";
    options.existing = Existing::overwrite;
    options.datasets = &datasets();
    std::vector<ResultRecord> results = run_experiment(experiment, options, stop);
    federation = make_federation(experiment, &datasets());
    return results.front();
  }

  /// Read once: most of a run's time would be unpacking pictures.
  static SharedDatasets& datasets() {
    static SharedDatasets shared;
    return shared;
  }

  /// The mean over the test clients of what each is assigned, scored on its own data.
  double mean_accuracy(const OpenedStore& store, const VisitorWish& wish) {
    double sum = 0;
    for (int i = 0; i < kClients; ++i) {
      const TestShard shard = federation->test(static_cast<ClientId>(i), kFewLabels);
      write_assigned(folder / "assigned",
                     assign_from(store, {shard.data, wish.few_labels ? &shard.few_labels : nullptr}, wish, nullptr));
      const Assigned assigned = read_assigned(folder / "assigned");
      const std::unique_ptr<Engine> engine = visitor_engine(store.experiment, store.model);
      Trainer trainer(*engine);
      sum += score(*make_predictor(assigned.offer), trainer, shard.data).accuracy();
    }
    return sum / kClients;
  }

  test::TempFolder folder;
  Experiment experiment;
  std::unique_ptr<Federation> federation;
  std::atomic<bool> stop = false;
};

constexpr const char* kServedFeroma = "[[algorithm]]\nname = 'feroma'\nwarmup_rounds = 2\n";
constexpr const char* kBudget = "[privacy]\nmode = 'gaussian'\nepsilon_total = 8\nmax_releases = 4\nnoise = 'seeded'\n";

TEST_F(AssignedTest, IsWhatTheRunServed) {
  // Test clients of a run may choose among all models by confidence; visitors are not sent them for that.
  const ResultRecord result = run(kServedFeroma + std::string("assign.strangers = 'profile'\n"));
  const OpenedStore store = open_store(folder / "run", "");
  EXPECT_EQ(store.round, 4);
  EXPECT_DOUBLE_EQ(mean_accuracy(store, {false, kClients}), result.accuracy);
  EXPECT_DOUBLE_EQ(mean_accuracy(store, {true, kClients}), result.accuracy_few_label.value());
}

TEST_F(AssignedTest, MayBeReadOnAnyMachine) {
  const ResultRecord result = run("[[algorithm]]\nname = 'fedavg'\n");
  const std::filesystem::path file = store_state_path(folder / "run", "fedavg");
  const Bytes bytes = read_checkpoint(file);
  std::string config = ArchiveReader(bytes, "test").get_string();
  const std::size_t rest = sizeof(std::uint64_t) + config.size();
  const std::string here = fmt::format("simd = \"{}\"", name_of(experiment.simd()));
  ASSERT_NE(config.find(here), std::string::npos) << config;
  config.replace(config.find(here), here.size(),
                 experiment.simd() == SimdTarget::neon ? "simd = \"avx2\"" : "simd = \"neon\"");
  ArchiveWriter changed;
  changed.put(std::string_view(config));
  Bytes written = changed.take();
  written.insert(written.end(), bytes.begin() + static_cast<std::ptrdiff_t>(rest), bytes.end());
  write_checkpoint(file, written);
  EXPECT_DOUBLE_EQ(mean_accuracy(open_store(folder / "run", ""), {}), result.accuracy);
}

TEST_F(AssignedTest, MethodsWithoutProfilesServeWhatTheyHold) {
  const ResultRecord fedavg = run("[[algorithm]]\nname = 'fedavg'\n");
  EXPECT_DOUBLE_EQ(mean_accuracy(open_store(folder / "run", ""), {}), fedavg.accuracy);
  const ResultRecord ifca = run("[[algorithm]]\nname = 'ifca'\n");
  EXPECT_NEAR(mean_accuracy(open_store(folder / "run", ""), {}), ifca.accuracy, 0.5) << "weights travel as floats";
  const TestShard shard = federation->test(ClientId{0}, kFewLabels);
  const std::string kept = test::error_of(ErrorCode::unsupported, [&] {
    static_cast<void>(assign_from(open_store(folder / "run", ""), {shard.data}, {false, 0}, nullptr));
  });
  EXPECT_TRUE(test::holds(kept, "candidates = 0 keeps them on the server")) << kept;
  run("[[algorithm]]\nname = 'local'\n");
  const OpenedStore local = open_store(folder / "run", "");
  const std::string error =
      test::error_of(ErrorCode::unsupported, [&] { static_cast<void>(assign_from(local, {shard.data}, {}, nullptr)); });
  EXPECT_TRUE(test::holds(error, "has no model for clients that take no part"));
}

TEST_F(AssignedTest, ModelsThatAreDamagedOrChangedPlacesAreRefused) {
  run(kServedFeroma);
  const auto model = [this](int client) {
    return folder / fmt::format("run/models/feroma-auto-client-{}.safetensors", client);
  };
  const Bytes whole = read_file(model(0));
  Bytes flipped = whole;
  flipped[whole.size() - 2] ^= std::byte{1};
  for (const Bytes& other : {flipped, read_file(model(1))}) {
    write_file_atomically(model(0), other);
    const std::string error =
        feroma::test::error_of(ErrorCode::invalid_data, [&] { static_cast<void>(open_store(folder / "run", "")); });
    EXPECT_TRUE(feroma::test::holds(error, "feroma-auto-client-0.safetensors: is damaged, or another model")) << error;
  }
}

// States of earlier versions name a model's file and no digest.
TEST_F(AssignedTest, AStateWithoutDigestsIsRead) {
  const ResultRecord result = run("[[algorithm]]\nname = 'fedavg'\n");
  const std::filesystem::path file = store_state_path(folder / "run", "fedavg");
  Bytes state = read_checkpoint(file);
  const std::string name = "models/fedavg.safetensors";
  const auto bytes_of_name = std::as_bytes(std::span(name));
  const auto found = std::search(state.begin(), state.end(), bytes_of_name.begin(), bytes_of_name.end());
  ASSERT_NE(found, state.end());
  const std::uint64_t length = name.size();
  std::memcpy(&*found - sizeof(length), &length, sizeof(length));
  const auto digest = found + static_cast<std::ptrdiff_t>(name.size());
  constexpr std::ptrdiff_t kMarkAndDigits = 65;
  EXPECT_EQ(*digest, std::byte{'#'});
  state.erase(digest, digest + kMarkAndDigits);
  write_checkpoint(file, state);
  EXPECT_DOUBLE_EQ(mean_accuracy(open_store(folder / "run", ""), {}), result.accuracy);
}

TEST_F(AssignedTest, FewModelsLeaveTheServer) {
  run(kServedFeroma);
  const OpenedStore store = open_store(folder / "run", "");
  const TestShard shard = federation->test(ClientId{1}, kFewLabels);
  const Assigned three = assign_from(store, {shard.data, &shard.few_labels}, {true, 3}, nullptr);
  EXPECT_EQ(three.choice, Choice::by_labels);
  EXPECT_EQ(three.candidates, 3);
  const Assigned one = assign_from(store, {shard.data, &shard.few_labels}, {true, 1}, nullptr);
  const auto model_bytes = static_cast<std::int64_t>(store.initial->layout().size * sizeof(float));
  EXPECT_EQ(three.bytes_down - one.bytes_down, 2 * model_bytes);
  const Assigned none = assign_from(store, {shard.data, &shard.few_labels}, {true, 0}, nullptr);
  EXPECT_EQ(none.choice, Choice::as_offered) << "only its mixture";
  double total = 0;
  for (const auto& [source, share] : none.offer.sources.front()) {
    total += share;
  }
  EXPECT_NEAR(total, 1, 1e-6);
}

// The nearest candidate must be among the few, or the choice by labels would be worth nothing.
TEST_F(AssignedTest, CandidatesAreTheNearest) {
  run(kServedFeroma);
  const OpenedStore store = open_store(folder / "run", "");
  const TestShard shard = federation->test(ClientId{2}, kFewLabels);
  const Assigned mixture = assign_from(store, {shard.data}, {}, nullptr);
  const Assigned one = assign_from(store, {shard.data, &shard.few_labels}, {true, 1}, nullptr);
  const auto& shares = mixture.offer.sources.front();
  const auto largest =
      std::max_element(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  EXPECT_EQ(one.offer.sources.front().begin()->first, largest->first);
}

TEST_F(AssignedTest, UnderABudgetProfilesLeaveAsReleases) {
  run(std::string(kServedFeroma) + kBudget);
  const OpenedStore store = open_store(folder / "run", "");
  const TestShard shard = federation->test(ClientId{0}, kFewLabels);
  test::error_of(ErrorCode::internal, [&] { static_cast<void>(assign_from(store, {shard.data}, {}, nullptr)); });
  Disclosure disclosure(store.experiment.privacy, folder / "ledger", "visit");
  const Assigned assigned = assign_from(store, {shard.data}, {}, &disclosure);
  EXPECT_EQ(assigned.offer.models.size(), 1U);
  EXPECT_GT(disclosure.spent().releases, 0);
}

TEST_F(AssignedTest, AStoreIsToldOnceOfEveryVersionOfTheData) {
  run(std::string(kServedFeroma) + kBudget);
  const OpenedStore store = open_store(folder / "run", "");
  const auto visit = [&](const OpenedStore& where, std::int64_t version) {
    const TestShard shard = federation->test(ClientId{0}, kFewLabels);  // a run replaces the federation it borrows from
    std::optional<Disclosure> disclosure = store_disclosure(where, folder / "visitor", version);
    const Assigned assigned = assign_from(where, {shard.data}, {}, &disclosure.value());
    EXPECT_EQ(assigned.offer.models.size(), 1U);
    return disclosure->spent().releases;
  };
  EXPECT_EQ(visit(store, 7), 1);
  EXPECT_EQ(visit(store, 7), 1) << "what was told is told again";
  EXPECT_EQ(visit(store, 8), 2) << "other data";
  std::filesystem::copy(folder / "run", folder / "copy", std::filesystem::copy_options::recursive);
  EXPECT_EQ(visit(open_store(folder / "copy", ""), 7), 2) << "the same models elsewhere";
  run(std::string("[[algorithm]]\nname = 'feroma'\nwarmup_rounds = 1\n") + kBudget);
  EXPECT_EQ(visit(open_store(folder / "run", ""), 7), 3) << "another run in that place has another encoder";
}

TEST_F(AssignedTest, WithoutABudgetThereIsNoLedger) {
  run("[[algorithm]]\nname = 'fedavg'\n");
  EXPECT_FALSE(store_disclosure(open_store(folder / "run", ""), folder / "visitor", 7));
  EXPECT_FALSE(std::filesystem::exists(folder / "visitor"));
}

/// Wherever a bit flips, the file is refused or says the same.
TEST(AssignedFile, IsRefusedWhereItWasDamaged) {
  const feroma::test::TempFolder folder;
  Assigned assigned;
  assigned.algorithm = "fedavg";
  assigned.round = 3;
  assigned.model = "mlp";
  assigned.input = {1, 3, 3};
  assigned.classes = 3;
  assigned.bytes_down = 1234;
  assigned.offer.weights = {0.25, 0.75};
  for (const std::uint64_t seed : {1U, 2U}) {
    assigned.offer.models.push_back(share(initialise(make_model("mlp", assigned.input, 3), Rng(seed))));
  }
  write_assigned(folder.path(), assigned);
  const std::filesystem::path file = folder / "assigned.json";
  const std::string text = read_text(file);
  std::size_t refused = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string flipped = text;
    flipped[i] = static_cast<char>(flipped[i] ^ 4);
    write_file_atomically(file, flipped);
    try {
      const Assigned read = read_assigned(folder.path());
      EXPECT_EQ(read.round, 3) << flipped;
      EXPECT_EQ(read.bytes_down, 1234) << flipped;
      EXPECT_EQ(read.offer.weights, assigned.offer.weights) << flipped;
      EXPECT_TRUE(flipped[i] <= ' ' || flipped.find("\"seal\"") == std::string::npos) << flipped;
    } catch (const Error& error) {
      EXPECT_TRUE(feroma::test::holds(error.what(), "assigned.json: ")) << error.what();
      refused += 1;
    }
  }
  EXPECT_GT(refused, text.size() / 2);
}

TEST(OpenStore, AServersStateBeforeTheLastRoundIsNamedAsSuch) {
  const test::TempFolder folder;
  const auto error = [&] {
    return test::error_of(ErrorCode::invalid_config, [&] { static_cast<void>(open_store(folder.path(), "")); });
  };
  EXPECT_TRUE(test::holds(error(), "it has no models/*.state"));
  write_file_atomically(folder / "journal", std::string_view("rounds"));
  EXPECT_TRUE(test::holds(error(), "is the state of a server that has not finished its rounds"));
  EXPECT_TRUE(test::holds(error(), "asked with --server"));
}

TEST_F(AssignedTest, ErrorsNameWhatIsWrong) {
  run("[[algorithm]]\nname = 'fedavg'\n[[algorithm]]\nname = 'feroma'\nwarmup_rounds = 2\n");
  const auto error = [&](const std::string& path, const std::string& label,
                         ErrorCode code = ErrorCode::invalid_config) {
    return test::error_of(code, [&] { static_cast<void>(open_store(folder / path, label)); });
  };
  EXPECT_TRUE(test::holds(error("run", ""), "several algorithms; choose one of: fedavg, feroma"));
  EXPECT_TRUE(test::holds(error("run", "ifca"), "has no algorithm \"ifca\""));
  EXPECT_TRUE(test::holds(error("nowhere", ""), "is no finished run"));
  const TestShard shard = federation->test(ClientId{0}, kFewLabels);
  View other = shard.data;
  other.shape = {1, 28, 28};
  const OpenedStore store = open_store(folder / "run", "fedavg");
  const std::string shape =
      test::error_of(ErrorCode::invalid_data, [&] { static_cast<void>(assign_from(store, {other}, {}, nullptr)); });
  EXPECT_TRUE(test::holds(shape, "samples must be 3x28x28"));
  const std::filesystem::path state = folder / "run" / "models" / "fedavg.state";
  Bytes bytes = read_file(state);
  bytes[bytes.size() / 2] ^= std::byte{1};
  write_file_atomically(state, bytes);
  static_cast<void>(error("run", "fedavg", ErrorCode::invalid_data));
  EXPECT_TRUE(
      test::holds(test::error_of(ErrorCode::invalid_config, [&] { static_cast<void>(read_assigned(folder / "run")); }),
                  "feroma assign writes one"));
}

}  // namespace
}  // namespace feroma
