// Scaled inputs, as people meet them: a table whose columns have nothing in common, a run, and predictions for a
// folder.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "tests/integration/federation_files.h"

namespace feroma {
namespace {

using test::contains;
using test::feroma_cli;
using test::Result;
using test::text_of;

constexpr int kSites = 4;
constexpr int kSiteRows = 120;
constexpr int kWardRows = 41;
constexpr const char* kPatientColumns = "glucose,age,pressure,platelets,income,dose";

/// Numbers between -1 and 1 that are the same on every machine.
class PatientNumbers {
 public:
  double next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(static_cast<std::int64_t>(state_) >> 11) / static_cast<double>(1LL << 52);
  }

 private:
  std::uint64_t state_ = 7;
};

/// One patient: six columns on six scales, of which the label needs four; owners differ in their means.
std::string patient_row(PatientNumbers& numbers, int owner, double last_times) {
  constexpr std::array<double, 6> size{1, 20, 15, 50'000, 1e6, 1e-5};
  constexpr std::array<double, 6> middle{5, 60, 120, 250'000, 3e6, 4e-5};
  constexpr std::array<double, 6> weight{1, -1, 0, 1, 0, 2};
  std::string text;
  double score = 0;
  for (std::size_t i = 0; i < size.size(); ++i) {
    const double value = numbers.next() + 0.1 * owner;
    score += weight[i] * value;
    text += fmt::format("{:.9g},", (middle[i] + size[i] * value) * (i == 5 ? last_times : 1));
  }
  return text + (score > 0.45 ? "ill" : "well");
}

class ScaledTables : public test::FederationFiles {
 protected:
  void SetUp() override {}  // a run needs no network

  void write_data(const std::string& folder, double last_times = 1) const {
    PatientNumbers numbers;
    std::filesystem::create_directory(path(folder));
    std::ofstream(path(folder + "/dataset.toml"))
        << "[dataset]\nkind = 'csv'\nfile = 'train.csv'\ntest_file = 'test.csv'\nlabel_column = 'state'\n"
           "class_names = 'ill, well'\nowner_column = 'owner'\n";
    std::ofstream train(path(folder + "/train.csv"));
    std::ofstream held_back(path(folder + "/test.csv"));
    train << kPatientColumns << ",state,owner\n";
    held_back << kPatientColumns << ",state,owner\n";
    for (int owner = 0; owner < kSites; ++owner) {
      write_rows(train, folder + fmt::format("-site-{}", owner), kSiteRows, numbers, owner, last_times);
      write_rows(held_back, folder + fmt::format("-ward-{}", owner), kWardRows, numbers, owner, last_times);
    }
  }

  /// The same rows for the scenario, and in a folder of their own.
  void write_rows(std::ofstream& all, const std::string& own, int count, PatientNumbers& numbers, int owner,
                  double last_times) const {
    std::filesystem::create_directory(path(own));
    std::ofstream(path(own + "/dataset.toml"))
        << "[dataset]\nkind = 'csv'\nfile = 'rows.csv'\nlabel_column = 'state'\nclass_names = 'ill, well'\n";
    std::ofstream rows(path(own + "/rows.csv"));
    rows << kPatientColumns << ",state\n";
    for (int i = 0; i < count; ++i) {
      const std::string text = patient_row(numbers, owner, last_times);
      rows << text << "\n";
      all << text << ",owner-" << owner << "\n";
    }
  }

  /// The rows of a folder in another one, with the columns the other way round and `age` under another name.
  void write_turned(const std::string& from, const std::string& to, const std::string& age) const {
    std::filesystem::create_directory(path(to));
    std::filesystem::copy_file(path(from + "/dataset.toml"), path(to + "/dataset.toml"));
    std::istringstream lines(text_of(path(from + "/rows.csv")));
    std::ofstream rows(path(to + "/rows.csv"));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream cells(line);
      std::string turned;
      for (std::string cell; std::getline(cells, cell, ',');) {
        turned = (cell == "age" ? age : cell) + (turned.empty() ? "" : "," + turned);
      }
      rows << turned << "\n";
    }
  }

  /// A column that models do not learn from, before all others.
  void add_column(const std::string& folder, std::string cell, const std::string& value) const {
    std::istringstream lines(text_of(path(folder + "/rows.csv")));
    std::ofstream rows(path(folder + "/rows.csv"));
    for (std::string line; std::getline(lines, line); cell = value) {
      rows << cell << "," << line << "\n";
    }
  }

  void write_config(const std::string& name, const std::string& data, const std::string& algorithm,
                    const std::string& scenario = "") const {
    std::ofstream(path(name)) << fmt::format(R"(
[scenario]
dataset = "{}"
shift = "natural_id"
drift_mode = "static"
drifts = 1
clients = {}
rounds = 5
{}
[training]
model = "mlp"
standardise = true
local_epochs = 2
learning_rate = 0.05
[[algorithm]]
{}
)",
                                             path(data), kSites, scenario, algorithm);
  }

  [[nodiscard]] double accuracy_of_run(const std::string& run) const {
    return nlohmann::json::parse(text_of(path(run + "/summary.json")))["results"][0]["accuracy"].get<double>();
  }

  [[nodiscard]] double predicted(const std::string& assigned, const std::string& ward) const {
    const Result result =
        feroma_cli("predict " + path(assigned) + " " + path(ward) + " --format json --out " + path("predictions.csv"));
    EXPECT_EQ(result.exit_code, 0);
    return result.exit_code == 0 ? nlohmann::json::parse(result.output)["accuracy"].get<double>() : -1;
  }

  void play(const std::string& config, const std::string& run, const std::string& more = "") const {
    const Result result = feroma_cli("run " + path(config) + " --out " + path(run) + more, test::Stream::err);
    ASSERT_EQ(result.exit_code, 0) << result.output;
  }

  [[nodiscard]] double assigned_and_predicted(const std::string& store, const std::string& ward) const {
    const Result result =
        feroma_cli("assign " + path(store) + " " + path(ward) + " --out " + path("assigned"), test::Stream::err);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return predicted("assigned", ward);
  }
};

TEST_F(ScaledTables, PredictionsAreAsGoodAsTheRunSays) {
  write_data("data");
  for (const char* algorithm :
       {"name = 'fedavg'",
        "name = 'feroma'\nwarmup_rounds = 2\nprofile.dimensions = 3\nassign.strangers = 'profile'"}) {
    write_config("one.toml", "data", algorithm, "test_clients = 1");
    play("one.toml", "one", " --overwrite");
    EXPECT_EQ(assigned_and_predicted("one", "data-ward-0"), accuracy_of_run("one")) << algorithm;
    EXPECT_GT(accuracy_of_run("one"), 85) << "there is something to lose: " << algorithm;
    write_config("all.toml", "data", algorithm);
    play("all.toml", "all", " --overwrite");
    double sum = 0;
    for (int owner = 0; owner < kSites; ++owner) {
      sum += assigned_and_predicted("all", fmt::format("data-ward-{}", owner));
    }
    EXPECT_DOUBLE_EQ(sum / kSites, accuracy_of_run("all")) << algorithm;
  }
}

TEST_F(ScaledTables, LargeInputsAreWarnedOfWhereTheModelTakesThemAsTheyAre) {
  write_data("data");
  write_config("run.toml", "data", "name = 'fedavg'", "test_clients = 1");
  for (const bool scaled : {true, false}) {
    play("run.toml", "run", fmt::format(" --overwrite --set scenario.rounds=1 --set training.standardise={}", scaled));
    const std::string ward = path("data-ward-0");
    for (const std::string& command : {"assign " + path("run") + " " + ward + " --out " + path("assigned"),
                                       "predict " + path("assigned") + " " + ward + " --out " + path("out.csv")}) {
      const Result result = feroma_cli(command, test::Stream::err);
      EXPECT_EQ(result.exit_code, 0) << result.output;
      EXPECT_EQ(contains(result.output, "inputs are large"), !scaled) << command << ": " << result.output;
    }
  }
}

// Whoever exports a table anew gets its columns in another order, or under other names.
TEST_F(ScaledTables, ColumnsGoByTheirNames) {
  write_data("data");
  write_config("run.toml", "data", "name = 'fedavg'", "test_clients = 1");
  play("run.toml", "run");
  const double accuracy = assigned_and_predicted("run", "data-ward-0");
  const std::string predictions = text_of(path("predictions.csv"));
  write_turned("data-ward-0", "turned", "age");
  EXPECT_EQ(predicted("assigned", "turned"), accuracy);
  EXPECT_EQ(text_of(path("predictions.csv")), predictions);
  EXPECT_EQ(assigned_and_predicted("run", "turned"), accuracy);
  write_turned("data-ward-0", "renamed", "years");
  for (const std::string& command : {"assign " + path("run") + " " + path("renamed") + " --out " + path("again"),
                                     "predict " + path("assigned") + " " + path("renamed")}) {
    const Result refused = feroma_cli(command, test::Stream::err);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_TRUE(contains(refused.output, "rows.csv: must have a column \"age\" like the training data, got "))
        << refused.output;
  }
  // Earlier versions kept no names, and no seal.
  nlohmann::ordered_json assigned = nlohmann::ordered_json::parse(text_of(path("assigned/assigned.json")));
  ASSERT_EQ(assigned.at("input_columns").dump(),
            "[\"glucose\",\"age\",\"pressure\",\"platelets\",\"income\",\"dose\"]");
  ASSERT_EQ(assigned.at("class_names").dump(), "[\"ill\",\"well\"]");
  assigned.erase("input_columns");
  assigned.erase("class_names");
  assigned.erase("seal");
  std::ofstream(path("assigned/assigned.json")) << assigned.dump();
  EXPECT_EQ(predicted("assigned", "data-ward-0"), accuracy);
  EXPECT_NE(predicted("assigned", "renamed"), accuracy) << "taken as they are";
}

TEST_F(ScaledTables, ClassesAreNamedAsTheModelKnowsThem) {
  write_data("data");
  write_config("run.toml", "data", "name = 'fedavg'", "test_clients = 1");
  play("run.toml", "run");
  std::filesystem::create_directory(path("new"));
  std::ofstream(path("new/dataset.toml")) << "[dataset]\nkind = 'csv'\nfile = 'rows.csv'\n";
  std::ofstream(path("new/rows.csv")) << kPatientColumns << "\n9,0,120,900000,3e6,9e-5\n-9,160,120,0,3e6,0\n";
  static_cast<void>(feroma_cli("assign " + path("run") + " " + path("new") + " --out " + path("assigned")));
  ASSERT_EQ(feroma_cli("predict " + path("assigned") + " " + path("new") + " --out " + path("out.csv")).exit_code, 0);
  const std::string text = text_of(path("out.csv"));
  EXPECT_TRUE(text.starts_with("sample,class,probability,predicted_name\n0,ill,")) << text;
  EXPECT_TRUE(contains(text, ",ill\n1,well,") && text.ends_with(",well\n")) << text;
}

// Whoever writes a folder anew lists its classes in another order, or leaves that to the words that occur.
TEST_F(ScaledTables, LabelsGoByTheirNames) {
  write_data("data");
  write_config("run.toml", "data", "name = 'fedavg'", "test_clients = 1");
  play("run.toml", "run");
  const double accuracy = assigned_and_predicted("run", "data-ward-0");
  EXPECT_GT(accuracy, 85);
  const std::string predictions = text_of(path("predictions.csv"));
  std::ofstream(path("data-ward-0/dataset.toml"))
      << "[dataset]\nkind = 'csv'\nfile = 'rows.csv'\nlabel_column = 'state'\nclass_names = 'well, ill'\n";
  EXPECT_EQ(predicted("assigned", "data-ward-0"), accuracy);
  EXPECT_EQ(text_of(path("predictions.csv")), predictions);
  EXPECT_TRUE(contains(predictions, ",ill\n") && contains(predictions, ",well\n")) << predictions;
  static_cast<void>(
      feroma_cli("assign " + path("run") + " " + path("data-ward-0") + " --few-labels 5 --out " + path("by-labels")));
  EXPECT_EQ(predicted("by-labels", "data-ward-0"), accuracy);
}

// A table has more than what a model learnt from: the time of a visit, a remark.
TEST_F(ScaledTables, OtherColumnsAreNoQuestion) {
  write_data("data");
  write_config("run.toml", "data", "name = 'fedavg'", "test_clients = 1");
  play("run.toml", "run");
  const double accuracy = assigned_and_predicted("run", "data-ward-0");
  add_column("data-ward-0", "when", "2024-02-03");
  EXPECT_EQ(assigned_and_predicted("run", "data-ward-0"), accuracy);
}

TEST_F(ScaledTables, AColumnsUnitDoesNotMatter) {
  write_data("grams");
  write_data("tons", 1e-6);
  write_data("picograms", 1e4);
  std::vector<double> accuracies;
  for (const char* data : {"grams", "tons", "picograms"}) {
    write_config("run.toml", data, "name = 'fedavg'");
    play("run.toml", data + std::string("-run"));
    accuracies.push_back(accuracy_of_run(data + std::string("-run")));
  }
  EXPECT_GT(accuracies[0], 85);
  EXPECT_NEAR(accuracies[1], accuracies[0], 0.7) << "a patient more or less";
  EXPECT_NEAR(accuracies[2], accuracies[0], 0.7);
}

class ScaledFederation : public ScaledTables {
 protected:
  void SetUp() override {
    FederationFiles::SetUp();
    if (IsSkipped()) {
      return;
    }
    write_data("data");
    write_config("scenario.toml", "data", "name = 'fedavg'", "test_clients = 1");
    play("scenario.toml", "simulated");
  }

  /// A server, four clients that `client` starts with `$id`, a visit to it, and what becomes of a server's results.
  [[nodiscard]] Result federated(const std::string& client, const std::string& columns = "") const {
    const std::string address = " --server 127.0.0.1:$port --insecure ";
    const std::string server_file =
        "[server]\ninput = '6'\nclasses = 2\nmin_clients = 4\ngrace_seconds = 0.5\nlinger_seconds = 3\ncolumns = '" +
        columns + "'\n";
    std::ofstream(path("config.toml")) << text_of(path("scenario.toml")) << server_file;
    return beside_the_server("for id in 0 1 2 3; do (timeout 60 $feroma client " + client +
                                 " --client $id --state client-$id" + address +
                                 ">client-$id.out 2>&1 &); done; for i in $(seq 300); do test -d federation/results && "
                                 "break; sleep 0.1; done; timeout 60 $feroma assign data-ward-0" +
                                 address + "--out visited >visit.out 2>&1",
                             "--stay");
  }
};

// The clients of a federation have the same values as those of the simulation, each in a process of its own.
TEST_F(ScaledFederation, PredictionsAreAsGoodAsTheSimulationSays) {
  const Result result = federated("config.toml");
  ASSERT_EQ(result.exit_code, 0) << text_of(path("visit.out")) << text_of(path("server.err"))
                                 << text_of(path("client-0.out"));
  EXPECT_EQ(predicted("visited", "data-ward-0"), accuracy_of_run("simulated"));
  EXPECT_EQ(assigned_and_predicted("federation", "data-ward-0"), accuracy_of_run("simulated"));
  EXPECT_EQ(text_of(path("federation/results/models/fedavg.safetensors")),
            text_of(path("simulated/models/fedavg.safetensors")));
}

TEST_F(ScaledFederation, ClientsScaleTheirOwnFoldersToo) {
  const Result result = federated("--data data-site-$id");
  ASSERT_EQ(result.exit_code, 0) << text_of(path("visit.out")) << text_of(path("server.err"))
                                 << text_of(path("client-0.out"));
  const double accuracy = predicted("visited", "data-ward-0");
  EXPECT_GT(accuracy, 85);
  EXPECT_EQ(assigned_and_predicted("federation", "data-ward-0"), accuracy);
  EXPECT_FALSE(contains(text_of(path("client-0.out")), "inputs are large")) << text_of(path("client-0.out"));
}

// A site whose columns have another order is like the others, and so is one that has more.
TEST_F(ScaledFederation, ColumnsOfSitesGoByTheirNames) {
  write_turned("data-site-2", "data-turned-2", "age");
  for (const int site : {0, 1, 3}) {
    std::filesystem::rename(path(fmt::format("data-site-{}", site)), path(fmt::format("data-turned-{}", site)));
  }
  write_turned("data-ward-0", "ward-turned", "age");
  write_turned("data-ward-0", "ward-renamed", "years");
  add_column("data-ward-0", "when", "2024-02-03");
  add_column("data-turned-1", "number", "7");
  const Result result = federated("--data data-turned-$id", kPatientColumns);
  ASSERT_EQ(result.exit_code, 0) << text_of(path("visit.out")) << text_of(path("server.err"));
  const double accuracy = predicted("visited", "data-ward-0");
  EXPECT_GT(accuracy, 85);
  EXPECT_EQ(predicted("visited", "ward-turned"), accuracy) << "what a server assigns has the names too";
  EXPECT_EQ(assigned_and_predicted("federation", "ward-turned"), accuracy) << "and what it leaves behind";
  EXPECT_TRUE(contains(feroma_cli("predict " + path("visited") + " " + path("ward-renamed"), test::Stream::err).output,
                       "must have a column \"age\""));
}

}  // namespace
}  // namespace feroma
