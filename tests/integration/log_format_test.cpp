#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <vector>

#include "tests/integration/federation_files.h"
#include "tests/places.h"

namespace feroma::test {
namespace {

class LogFormat : public FederationFiles {
 protected:
  /// The exit code and the log of a command that is told to stop once it has said `word`.
  Result stopped_after(const std::string& word, const std::string& command) const {
    write_files();
    return shell("cd " + path("") + "; " + kProgram + " " + command + " --log-format json >news 2>log &" + R"(
for i in $(seq 300); do
  grep -q ')" + word +
                 R"(' news log && break
  sleep 0.1
done
kill $!
wait $!
code=$?
cat log
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

// A server without TLS: gRPC has something to say while the client still tries.
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

// Who watches for errors must not be called because somebody restarts a server.
TEST_F(LogFormat, BeingToldToStopIsNoError) {
  const auto expect_end = [](const Result& result, const std::string& message) {
    EXPECT_EQ(result.exit_code, 3) << result.output;
    const std::vector<nlohmann::json> lines = objects_in(result.output);
    ASSERT_FALSE(lines.empty());
    EXPECT_EQ(lines.back().value("message", ""), message);
    for (const nlohmann::json& line : lines) {
      EXPECT_EQ(line.value("level", ""), "info") << line;
    }
  };
  expect_end(stopped_after("listening", "server config.toml --insecure --listen 127.0.0.1:0"),
             "the server was told to stop");
  const Result client =
      stopped_after("no connection", "client --data visits --client 0 --state client --server 127.0.0.1:1 --insecure");
  expect_end(client, "the client was told to stop");
  EXPECT_TRUE(contains(client.output, "Connection refused")) << client.output;
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
