// `feroma assign` under a privacy budget, as people call it.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "feroma/core/files.h"
#include "feroma/core/npy.h"
#include "feroma/data/catalog.h"
#include "feroma/privacy/ledger.h"
#include "feroma/runtime/store_models.h"
#include "tests/integration/federation_files.h"

namespace feroma {
namespace {

using test::contains;
using test::feroma_cli;
using test::Result;
using test::Stream;

class AssignCommand : public test::CliFiles {
 protected:
  void SetUp() override {
    if (locate_dataset(find_dataset("fmnist"), {}).empty()) {
      GTEST_SKIP() << "Fashion-MNIST is missing (Debian: dataset-fashion-mnist): feroma assign is NOT tested";
    }
    write_file_atomically(path("private.toml"), std::string_view(R"(
[scenario]
dataset = "fmnist"
shift = "covariate"
clients = 6
rounds = 4
drifts = 2
samples_per_client = 150
[training]
local_epochs = 1
[[algorithm]]
name = "feroma"
warmup_rounds = 2
[privacy]
mode = "gaussian"
epsilon_total = 8
max_releases = 4
)"));
    ASSERT_EQ(feroma_cli("run " + path("private.toml") + " --out " + path("run")).exit_code, 0);
    input_ = open_store(path("run"), "").model.input;
  }

  /// A folder of unlabelled samples, all of one brightness.
  void write_ward(const std::string& name, float brightness, int samples = 40) const {
    make_writable_folder(path(name));
    const auto width = static_cast<std::int64_t>(input_.size());
    const std::vector<float> values(static_cast<std::size_t>(samples * width), brightness);
    const std::vector<std::int64_t> shape{samples, width};
    write_file_atomically(path(name + "/x.npy"), npy_bytes(std::span<const float>(values), shape));
    write_file_atomically(path(name + "/dataset.toml"),
                          fmt::format("[dataset]\nkind = \"npy\"\ninputs = \"x.npy\"\nshape = \"{}x{}x{}\"\n",
                                      input_.channels, input_.height, input_.width));
  }

  void assign(const std::string& ward, const std::string& more = "") const {
    const std::string arguments = "assign " + path("run") + " " + path(ward) + " --out " + path("assigned") + more;
    const Result result = feroma_cli(arguments, Stream::err);
    EXPECT_EQ(result.exit_code, 0) << result.output;
  }

  SampleShape input_;
};

TEST_F(AssignCommand, TellsOnceOfEveryVersionOfTheData) {
  write_ward("ward-a", 0.2F);
  assign("ward-a");
  const std::string beside = path("ward-a-visitor/ledger");
  ASSERT_EQ(audit_ledger(beside).size(), 1U) << "the ledger is beside the data, wherever the command is called";
  EXPECT_EQ(test::shell("find " + path("ward-a-visitor") + " -perm /077").output, "") << "it is its owner's alone";
  assign("ward-a");
  EXPECT_EQ(audit_ledger(beside).size(), 1U) << "what was told is told again";
  write_ward("ward-a", 0.7F, 50);
  assign("ward-a");
  EXPECT_EQ(audit_ledger(beside).size(), 2U) << "other data are told anew";
}

TEST_F(AssignCommand, CountsNoBytesOfAFolder) {
  write_ward("ward-a", 0.2F);
  const Result result = feroma_cli("assign " + path("run") + " " + path("ward-a") + " --out " + path("assigned"));
  EXPECT_TRUE(contains(result.output, "\nwritten to " + path("assigned") + "\n")) << result.output;
  EXPECT_FALSE(contains(result.output, "bytes")) << "nothing travelled\n" << result.output;
}

TEST_F(AssignCommand, TwoFoldersWithOneStateAreTwoVersions) {
  write_ward("ward-a", 0.2F);
  write_ward("ward-b", 0.7F);
  // As after unpacking an archive whose files all have one time.
  for (const char* file : {"x.npy", "dataset.toml"}) {
    std::filesystem::last_write_time(path(std::string("ward-b/") + file),
                                     std::filesystem::last_write_time(path(std::string("ward-a/") + file)));
  }
  assign("ward-a", " --state " + path("state"));
  assign("ward-b", " --state " + path("state"));
  const std::vector<LedgerLine> lines = audit_ledger(path("state/ledger"));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[0].key.version, lines[1].key.version);
  EXPECT_EQ(lines[0].key.job, lines[1].key.job) << "one store";
}

class AssignFromAServer : public test::FederationFiles {};

TEST_F(AssignFromAServer, CountsWhatTravels) {
  const Result result = beside_a_server(
      "timeout 60 $feroma client --data visits --client 0 --state client --server 127.0.0.1:$port --insecure "
      ">client.out "
      "&& timeout 60 $feroma assign visits --server 127.0.0.1:$port --insecure --out assigned 2>&1",
      "--stay");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_TRUE(contains(result.output, " bytes down, 0 up; written to assigned\n")) << result.output;
}

// What is told under a budget goes up once; labels choose among what comes down, and stay.
TEST_F(AssignFromAServer, UnderABudgetASecondVisitCostsNothingNew) {
  const std::string address = " --server 127.0.0.1:$port --insecure ";
  const std::string client = "timeout 60 $feroma client --data visits-$id --client $id --state client-$id" + address;
  const std::string visit = "timeout 60 $feroma assign ward --few-labels 2 --out assigned" + address;
  const Result result = beside_a_server(
      "cp -r visits ward; cp -r visits visits-0; cp -r visits visits-1\n(id=0; " + client +
          ">client-0.out 2>&1 &)\nid=1; " + client + ">client-1.out 2>&1 && " + visit +
          ">first.out 2>first.err && cp -r ward-visitor after-first && " + visit + ">second.out 2>second.err",
      "--stay --set scenario.rounds=3 --set server.min_clients=2 --set algorithm.0.name=feroma "
      "--set algorithm.0.preset=auto --set algorithm.0.warmup_rounds=1 --set algorithm.0.profile.dimensions=2 "
      "--set privacy.mode=gaussian "
      "--set privacy.epsilon_total=50");
  const std::string first = test::text_of(path("first.out"));
  ASSERT_EQ(result.exit_code, 0) << test::text_of(path("first.err")) << test::text_of(path("client-1.out"))
                                 << test::text_of(path("server.err"));
  EXPECT_TRUE(contains(first, "from 2 models, chosen by its labels\n")) << first;
  EXPECT_TRUE(contains(first, " bytes down, ")) << first;
  EXPECT_FALSE(contains(first, " bytes down, 0 up; ")) << first;
  EXPECT_EQ(test::text_of(path("second.out")), first);
  const std::vector<LedgerLine> told = audit_ledger(path("after-first/ledger"));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told.front().key.kind, "unlabelled");
  const std::vector<LedgerLine> told_again = audit_ledger(path("ward-visitor/ledger"));
  ASSERT_EQ(told_again.size(), 1U) << "what was told is told again";
  EXPECT_EQ(told_again.front().digest, told.front().digest);
}

class AssignPrivacy : public test::CliFiles {
 protected:
  /// Data of a client that has no labels.
  void write_ward() const {
    make_writable_folder(path("ward"));
    write_file_atomically(path("ward/dataset.toml"),
                          std::string_view("[dataset]\nkind = 'csv'\nfile = 'visits.csv'\n"));
    write_file_atomically(path("ward/visits.csv"), std::string_view("age,pressure\n50,120\n60,130\n"));
  }
};

TEST_F(AssignPrivacy, IsTheClientsOwn) {
  if (!contains(feroma_cli("assign --help").output, "--server")) {
    GTEST_SKIP() << "built without the network: visits to a server are NOT tested";
  }
  write_ward();
  write_file_atomically(path("own.toml"), std::string_view("[privacy]\nmode = 'gaussian'\n"));
  const std::string visit = "assign " + path("ward") + " --server 127.0.0.1:1 --insecure --config " + path("own.toml");
  const Result strange = feroma_cli(visit + " --set privacy.mode=gausian", Stream::err);
  EXPECT_EQ(strange.exit_code, 2);
  EXPECT_TRUE(contains(strange.output, "privacy.mode")) << strange.output;
  const Result other = feroma_cli(visit + " --set training.model=mlp", Stream::err);
  EXPECT_EQ(other.exit_code, 2) << "of the file only [privacy] counts";
  EXPECT_TRUE(contains(other.output, "training.model")) << other.output;
  EXPECT_EQ(feroma_cli("assign " + path("run") + " " + path("ward") + " --config " + path("own.toml")).exit_code, 2)
      << "a store takes no more than its own budget";
}

TEST_F(AssignPrivacy, AndItsCertificate) {
  if (!contains(feroma_cli("assign --help").output, "--server")) {
    GTEST_SKIP() << "built without the network: who shows no certificate is NOT tested";
  }
  write_ward();
  for (const std::string& command : {"client --data " + path("ward"), "assign " + path("ward")}) {
    for (const char* files : {"", " --ca ca.pem", " --ca ca.pem --cert a.pem", " --ca ca.pem --key a.key"}) {
      const Result result = feroma_cli(command + " --server 127.0.0.1:1" + files, Stream::err);
      EXPECT_EQ(result.exit_code, 2) << command << files;
      EXPECT_TRUE(contains(result.output, "needs --ca, --cert and --key")) << result.output;
    }
  }
}

}  // namespace
}  // namespace feroma
