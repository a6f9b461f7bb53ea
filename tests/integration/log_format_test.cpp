#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <vector>

#include "cli_support.h"

namespace feroma::test {
namespace {

class LogFormat : public CliFiles {
 protected:
  void SetUp() override {
    if (!contains(feroma_cli("--version").output, "network (gRPC): yes")) {
      GTEST_SKIP() << "this build has no network: --log-format is NOT tested";
    }
  }

  /// What a shell prints that runs `commands` in the test's folder beside a server without certificates; `$feroma` is
  /// the program, `$port` the server's, and `visits` a client's data.
  Result beside_a_server(const std::string& commands) const {
    std::ofstream(path("config.toml")) << "[scenario]\nclients = 2\nrounds = 2\ndrifts = 1\n[training]\nmodel = 'mlp'\n"
                                          "local_epochs = 1\n[[algorithm]]\nname = 'fedavg'\n[server]\ninput = '2'\n"
                                          "classes = 2\nmin_clients = 1\nclock = 0.1\n";
    std::filesystem::create_directory(path("visits"));
    std::ofstream(path("visits/dataset.toml"))
        << "[dataset]\nkind = 'csv'\nfile = 'visits.csv'\nclasses = 2\nlabel_column = 'ill'\n";
    std::ofstream table(path("visits/visits.csv"));
    table << "age,pressure,ill\n";
    for (int i = 0; i < 10; ++i) {
      table << 0.1 * i << ",0.5," << i % 2 << "\n";
    }
    table.close();
    return shell("cd " + path("") + "; feroma=" + FEROMA_BINARY + R"(
timeout 60 $feroma server config.toml --insecure --listen 127.0.0.1:0 >server.out 2>server.err &
for i in $(seq 300); do
  port=$(sed -n 's/^listening on port \([0-9]*\).*/\1/p' server.out)
  test -n "$port" && break
  sleep 0.1
done
)" + commands + R"(
code=$?
kill $! 2>/dev/null
wait
exit $code)");
  }
  /// Every line as the object that it must be.
  static std::vector<nlohmann::json> objects_in(const std::string& output) {
    std::vector<nlohmann::json> objects;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
      objects.push_back(nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false));
      EXPECT_TRUE(objects.back().is_object() && objects.back().contains("message")) << line;
    }
    return objects;
  }
  /// The line with a message that begins so; null where there is none.
  static nlohmann::json find(const std::vector<nlohmann::json>& objects, const std::string& beginning) {
    for (const nlohmann::json& object : objects) {
      if (object.is_object() && object.value("message", "").starts_with(beginning)) {
        return object;
      }
    }
    return nullptr;
  }
};

TEST_F(LogFormat, JsonIsOneObjectPerLine) {
  for (const std::string command : {"server", "client --client 0"}) {
    const Result result = feroma_cli(command + " missing.toml --insecure --log-format json", Stream::err);
    EXPECT_NE(result.exit_code, 0);
    const auto line = nlohmann::json::parse(result.output, nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(line.is_object()) << result.output;
    EXPECT_EQ(line.at("level"), "error");
    EXPECT_TRUE(contains(line.at("message"), "missing.toml")) << result.output;
    const std::regex time(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)");
    EXPECT_TRUE(std::regex_match(line.at("time").get<std::string>(), time)) << result.output;
  }
}

TEST_F(LogFormat, AllThatAClientSaysIsJson) {
  const Result result = beside_a_server(
      "timeout 60 $feroma client --data visits --client 0 --state client --server 127.0.0.1:$port --insecure "
      "--log-format json 2>&1");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  const std::vector<nlohmann::json> lines = objects_in(result.output);
  const nlohmann::json joined = find(lines, "joined as client 0");
  ASSERT_TRUE(joined.is_object()) << result.output;
  EXPECT_EQ(joined.at("level"), "info");
  EXPECT_EQ(joined.at("client"), 0);
  EXPECT_EQ(joined.at("round"), 0);
  EXPECT_TRUE(find(lines, "the federation is finished").is_object()) << result.output;
}

// A server without TLS: gRPC has something to say, and is the only one that knows why there is no connection.
TEST_F(LogFormat, WhatGrpcSaysIsPartOfAClientsLog) {
  const Result result = beside_a_server(
      "$feroma cert authority >/dev/null && $feroma cert client a >/dev/null && "
      "timeout -k 20 -s INT 2 $feroma client --data visits --state client --server 127.0.0.1:$port --ca certs/ca.pem "
      "--cert certs/clients/a.pem --key certs/clients/a.key --log-format json 2>&1");
  const nlohmann::json line = find(objects_in(result.output), "gRPC: ");
  ASSERT_TRUE(line.is_object()) << result.output;
  EXPECT_EQ(line.at("level"), "warning");
  EXPECT_TRUE(contains(line.at("message"), "Handshake failed")) << result.output;
}

TEST_F(LogFormat, WhatIsNoTextDoesNotEndTheLog) {
  const Result result = feroma_cli("server '\xff\n\".toml' --insecure --log-format json", Stream::err);
  EXPECT_TRUE(nlohmann::json::accept(result.output)) << result.output;
}

TEST_F(LogFormat, TextIsForPeople) {
  const Result result = feroma_cli("server missing.toml --insecure", Stream::err);
  EXPECT_TRUE(result.output.starts_with("feroma: ")) << result.output;
}

TEST_F(LogFormat, OthersAreRefused) {
  const Result result = feroma_cli("server missing.toml --log-format xml", Stream::err);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.output, "must be text or json, got xml")) << result.output;
}

}  // namespace
}  // namespace feroma::test
