// The scale of the inputs is part of the model: where it comes from, and that nothing works without it.
#include "feroma/runtime/input_survey.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <nlohmann/json.hpp>

#include "feroma/core/files.h"
#include "feroma/core/log.h"
#include "feroma/runtime/assigned.h"
#include "feroma/runtime/run.h"
#include "feroma/store/checkpoint.h"
#include "feroma/store/safetensors.h"
#include "runtime/run_checkpoint.h"
#include "runtime/store_state.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"

namespace feroma {
namespace {

constexpr SampleShape kTwoInputs{1, 1, 2};

ClientId survey_client(std::uint32_t number) { return static_cast<ClientId>(number); }

Message forged_sums(std::int64_t count, std::vector<double> sums, std::vector<double> squares) {
  const auto bits = [](const std::vector<double>& numbers) {
    Ints all;
    for (const double number : numbers) {
      all.push_back(std::bit_cast<std::int64_t>(number));
    }
    return all;
  };
  return {{{"num_examples", Ints{count}}, {"sums", bits(sums)}, {"squares", bits(squares)}}};
}

/// Clients that say what the test wants.
class ClaimedSums final : public ClientPool {
 public:
  [[nodiscard]] std::map<ClientId, ClientOutcome> exchange(const Algorithm&, Round round, int,
                                                           std::span<const ClientId> participants) override {
    EXPECT_EQ(round, kSurveyRound);
    std::map<ClientId, ClientOutcome> outcomes;
    for (const ClientId who : participants) {
      outcomes[who].answer = ClientAnswer{said.at(who), 0};
      outcomes[who].report.num_examples = announced.contains(who) ? announced.at(who) : 1'000'000'000;
    }
    return outcomes;
  }
  void save(ModelWriter&) const override {}
  void load(ModelReader&) override {}

  std::map<ClientId, Message> said;
  std::map<ClientId, std::int64_t> announced;
};

InputScales scales_of_claims(const std::map<ClientId, Message>& said,
                             const std::map<ClientId, std::int64_t>& announced = {}) {
  ClaimedSums pool;
  pool.said = said;
  pool.announced = announced;
  std::vector<ClientId> all;
  for (const auto& [who, message] : said) {
    all.push_back(who);
  }
  return survey_inputs(pool, all, kTwoInputs);
}

TEST(InputSurvey, TwoThatDifferAreBothNamed) {
  std::string said;
  log::set_sink([&said](const log::Entry& entry) { said += entry.message; });
  const Message good = forged_sums(10, {10, 0}, {20, 10});
  static_cast<void>(scales_of_claims({{survey_client(4), good}, {survey_client(7), good}}));
  EXPECT_EQ(said, "");
  static_cast<void>(
      scales_of_claims({{survey_client(4), good}, {survey_client(7), forged_sums(10, {1e5, 0}, {2e9, 10})}}));
  log::set_sink({});
  EXPECT_NE(said.find("clients 4 and 7 differ: input 1 of one is 10000 times as large as the other's"),
            std::string::npos)
      << said;
}

TEST(InputSurvey, WhoseSumsCannotBeBelievedHasNoSay) {
  const Message good = forged_sums(10, {10, 0}, {20, 10});
  const std::map<ClientId, Message> honest{
      {survey_client(0), good}, {survey_client(1), good}, {survey_client(2), good}};
  const InputScales expected = scales_of_claims(honest);
  EXPECT_EQ(expected, (InputScales{{1, -1}, {1, 0}}));
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Message& lie :
       {forged_sums(10, {10, 0}, {5, 10}), forged_sums(10, {10, 0}, {infinity, 10}),
        forged_sums(10, {1e45, 0}, {1e90, 10}), forged_sums(20'000, {2e4, 0}, {4e4, 2e4}),
        forged_sums(10, {1e5, 0}, {2e9, 10}), forged_sums(10, {10}, {20}), forged_sums(-1, {10, 0}, {20, 10}),
        forged_sums(2'000'000'000, {2e9, 0}, {4e9, 2e9}), Message{}}) {
    std::map<ClientId, Message> said = honest;
    said[survey_client(3)] = lie;
    EXPECT_EQ(scales_of_claims(said), expected);
  }
  std::map<ClientId, Message> said = honest;
  said[survey_client(3)] = forged_sums(40, {80, 40}, {200, 80});
  EXPECT_NE(scales_of_claims(said), expected) << "that one could be true";
  EXPECT_EQ(scales_of_claims(said, {{survey_client(3), 39}}), expected) << "but not with fewer samples than it counts";
  test::error_of(ErrorCode::invalid_data, [&] {
    static_cast<void>(scales_of_claims({{survey_client(0), Message{}}}));
  });
}

/// A table of three owners whose columns have nothing in common.
class ScaledRun : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder / "data");
    std::ofstream(folder / "data/dataset.toml") << "[dataset]\nkind = 'csv'\nfile = 'rows.csv'\nlabel_column = 'y'\n"
                                                   "owner_column = 'owner'\n";
    std::ofstream rows(folder / "data/rows.csv");
    rows << "age,income,y,owner\n";
    for (int i = 0; i < 180; ++i) {
      const int age = 20 + 37 * i % 61;
      const int income = 20000 + 7919 * i % 50000;
      rows << age << ',' << income << ',' << (1000 * age > income ? 1 : 0) << ',' << i % 3 << '\n';
    }
  }

  [[nodiscard]] Experiment experiment(const std::string& more = "", bool standardise = true) const {
    return read_experiment(parse_settings(
        fmt::format("[scenario]\ndataset = '{}'\nshift = 'natural_id'\ndrift_mode = 'static'\nclients = 3\nrounds = "
                    "4\ndrifts = 1\n[training]\nmodel = 'mlp'\nstandardise = {}\nlocal_epochs = 1\n"
                    "[[algorithm]]\nname = 'fedavg'\n{}",
                    (folder / "data").string(), standardise, more),
        "test"));
  }

  void run(const std::string& name, Existing existing = Existing::overwrite, int rounds = 99) {
    std::atomic<bool> stop = false;
    RunOptions options;
    options.out = folder / name;
    options.existing = existing;
    options.observer.round_finished = [&](const RoundRecord& round, int) { stop = round.round >= rounds; };
    try {
      static_cast<void>(run_experiment(experiment(), options, stop));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::interrupted) {
        throw;
      }
    }
  }

  [[nodiscard]] Bytes model(const std::string& run) const {
    return read_file(folder / run / "models/fedavg.safetensors");
  }

  test::TempFolder folder;
};

TEST_F(ScaledRun, TheScaleIsThatOfTheFirstStageOfWhoIsThere) {
  const auto federation = make_federation(experiment());
  std::map<ClientId, InputSums> sums;
  for (const std::uint32_t who : {0U, 2U}) {
    sums[survey_client(who)] = input_sums(federation->shard(survey_client(who), 1).train);
  }
  const std::vector<ClientId> there{survey_client(0), survey_client(2)};
  EXPECT_EQ(survey_inputs(*federation, there), scales_of(sums, federation->shape()));
  EXPECT_EQ(federation->shard(survey_client(0), 1).train.scales.size(), 0U) << "whoever makes it says when";
}

TEST_F(ScaledRun, TheScaleIsInEverythingThatHasAModel) {
  run("run");
  const OpenedStore store = open_store(folder / "run", "");
  const auto federation = make_federation(experiment());
  const std::vector<ClientId> all{survey_client(0), survey_client(1), survey_client(2)};
  EXPECT_EQ(store.scales, survey_inputs(*federation, all));
  const ModelFile file = read_safetensors(folder / "run/models/fedavg.safetensors", store.initial->shared_layout());
  EXPECT_EQ(file.metadata.at("input_scale"), fmt::format("{}", fmt::join(numbers_of(store.scales), " ")));
  const View data = federation->test(survey_client(1), 1).data;
  const Assigned assigned = assign_from(store, {data}, {}, nullptr);
  write_assigned(folder / "assigned", assigned);
  EXPECT_EQ(read_assigned(folder / "assigned").scales, store.scales) << "to the last bit";
  // Bytes that would travel: the model, its weight and who it is of, and the scale.
  EXPECT_GE(assigned.bytes_down, static_cast<std::int64_t>(4 * (store.initial->size() + 4)));
}

TEST_F(ScaledRun, GoesOnWithTheScaleItBeganWith) {
  run("whole");
  run("stopped", Existing::overwrite, 2);
  ASSERT_FALSE(std::filesystem::exists(folder / "stopped/summary.json"));
  run("stopped", Existing::resume);
  EXPECT_EQ(model("stopped"), model("whole"));
  // It is not made anew: another one in its place is kept too.
  run("other", Existing::overwrite, 2);
  const std::filesystem::path state = checkpoint_path(folder / "other", "run");
  RunCheckpoint changed = read_run_checkpoint(state);
  changed.input_scale[0] *= 2;
  write_run_checkpoint(state, changed);
  run("other", Existing::resume);
  EXPECT_EQ(open_store(folder / "other", "").scales[0].factor, changed.input_scale[0]);
  EXPECT_NE(model("other"), model("whole"));
}

TEST_F(ScaledRun, WhatEarlierVersionsLeftHasNoScaleAndIsRefused) {
  run("run", Existing::overwrite, 2);
  const std::filesystem::path state = checkpoint_path(folder / "run", "run");
  RunCheckpoint old = read_run_checkpoint(state);
  old.input_scale.clear();
  write_run_checkpoint(state, old);
  EXPECT_TRUE(test::holds(test::error_of(ErrorCode::invalid_data, [&] { run("run", Existing::resume); }),
                          "has no scale of the inputs"));
  run("run");
  const std::filesystem::path stored = store_state_path(folder / "run", "fedavg");
  Bytes bytes = read_checkpoint(stored);
  constexpr std::size_t kDigest = sizeof(std::uint64_t) + 64;  // of the index
  const DataNames names = open_store(folder / "run", "").names;
  std::size_t behind = sizeof(std::uint64_t) + 4 * sizeof(float) + kDigest;
  for (const std::vector<std::string>* list : {&names.columns, &names.classes}) {
    behind += sizeof(std::uint32_t);
    for (const std::string& name : *list) {
      behind += sizeof(std::uint64_t) + name.size();
    }
  }
  bytes.resize(bytes.size() - behind);
  write_checkpoint(stored, bytes);
  const std::string error =
      test::error_of(ErrorCode::invalid_data, [&] { static_cast<void>(open_store(folder / "run", "")); });
  EXPECT_TRUE(test::holds(error, stored.string() + ": has no scale of the inputs"));
  EXPECT_TRUE(test::holds(error, "train them again"));
}

TEST_F(ScaledRun, AnAssignedModelThatChangedIsRefused) {
  run("run");
  const OpenedStore store = open_store(folder / "run", "");
  const auto federation = make_federation(experiment());
  write_assigned(folder / "assigned", assign_from(store, {federation->test(survey_client(1), 1).data}, {}, nullptr));
  const std::filesystem::path model = folder / "assigned/model-0.safetensors";
  const Bytes whole = read_file(model);
  Bytes bytes = whole;
  bytes.back() ^= std::byte{1};
  write_file_atomically(model, bytes);
  const auto refusal = [&] {
    return test::error_of(ErrorCode::invalid_data, [&] { static_cast<void>(read_assigned(folder / "assigned")); });
  };
  EXPECT_TRUE(test::holds(refusal(), model.string() + ": is damaged, or another model"));
  const std::filesystem::path file = folder / "assigned/assigned.json";
  auto json = nlohmann::ordered_json::parse(read_text(file));
  json.erase("seal");
  json["sha256"] = nlohmann::ordered_json::array();
  write_file_atomically(file, json.dump());
  EXPECT_TRUE(test::holds(refusal(), file.string() + ": sha256 must have one for each of the 1 models"));
  json.erase("sha256");
  write_file_atomically(file, json.dump());
  EXPECT_EQ(read_assigned(folder / "assigned").offer.models.size(), 1U) << "earlier versions wrote none";
  json["input_scale"] = nullptr;
  write_file_atomically(file, json.dump());
  EXPECT_TRUE(test::holds(refusal(), model.string() + ": is of a model with scaled inputs"));
}

TEST_F(ScaledRun, AssignedFilesOfTheFirstVersionStillOpen) {
  run("run");
  const OpenedStore store = open_store(folder / "run", "");
  const auto federation = make_federation(experiment());
  write_assigned(folder / "assigned", assign_from(store, {federation->test(survey_client(1), 1).data}, {}, nullptr));
  const std::filesystem::path file = folder / "assigned/assigned.json";
  auto json = nlohmann::ordered_json::parse(read_text(file));
  json.erase("seal");
  json["input_scale"] = nlohmann::ordered_json::array();
  write_file_atomically(file, json.dump());
  EXPECT_TRUE(test::holds(
      test::error_of(ErrorCode::invalid_data, [&] { static_cast<void>(read_assigned(folder / "assigned")); }),
      "has no scale of the inputs"));
  json.erase("input_scale");
  write_file_atomically(file, json.dump());
  test::error_of(ErrorCode::invalid_data, [&] { static_cast<void>(read_assigned(folder / "assigned")); });
  json["version"] = 1;
  json.erase("sha256");
  write_file_atomically(file, json.dump());
  test::error_of(ErrorCode::invalid_data, [&] { static_cast<void>(read_assigned(folder / "assigned")); });
  // Models of that version said nothing of a scale.
  const std::filesystem::path model = folder / "assigned/model-0.safetensors";
  const Experiment scaled = experiment();
  const auto layout = make_layout(scaled.model(federation->shape(), federation->classes()));
  static_cast<void>(write_safetensors(model, read_safetensors(model, layout).params, {{"model", "mlp"}}));
  EXPECT_TRUE(read_assigned(folder / "assigned").scales.empty());
}

TEST_F(ScaledRun, AnEncoderOfScaledInputsIsRefusedWhereTheyAreAsTheyAre) {
  run("run");
  const std::string encoder =
      fmt::format("[[algorithm]]\nname = 'feroma'\nwarmup_rounds = 1\nprofile.dimensions = 2\nprofile.encoder = '{}'\n",
                  (folder / "run/models/fedavg.safetensors").string());
  std::atomic<bool> stop = false;
  RunOptions options;
  options.out = folder / "other";
  const std::string error = test::error_of(
      ErrorCode::invalid_config, [&] { static_cast<void>(run_experiment(experiment(encoder, false), options, stop)); });
  EXPECT_TRUE(test::holds(error, "fedavg.safetensors was trained on scaled inputs"));
  EXPECT_NO_THROW(static_cast<void>(run_experiment(experiment(encoder), options, stop)));
}

// Without the key nothing is different from what earlier versions wrote.
TEST_F(ScaledRun, ModelsOfInputsAsTheyAreSayNothingOfAScale) {
  std::atomic<bool> stop = false;
  RunOptions options;
  options.out = folder / "plain";
  static_cast<void>(run_experiment(experiment("", false), options, stop));
  const OpenedStore store = open_store(folder / "plain", "");
  EXPECT_TRUE(store.scales.empty());
  const ModelFile file = read_safetensors(folder / "plain/models/fedavg.safetensors", store.initial->shared_layout());
  EXPECT_FALSE(file.metadata.contains("input_scale"));
}

}  // namespace
}  // namespace feroma
