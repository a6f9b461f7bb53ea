#pragma once

#include "tests/integration/cli_support.h"
#include "tests/places.h"

namespace feroma::test {

/// Lines of a shell that wait until a server, whose output goes to `server.out`, listens at `$port`.
inline constexpr const char* kWaitForPort = R"(
for i in $(seq 300); do
  port=$(sed -n 's/^listening on port \([0-9]*\).*/\1/p' server.out)
  test -n "$port" && break
  sleep 0.1
done
)";

/// Tests of a small federation's server and clients; skipped where the program has no network.
class FederationFiles : public CliFiles {
 protected:
  void SetUp() override {
    if (!contains(feroma_cli("--version").output, "network (gRPC): yes")) {
      GTEST_SKIP() << "this build has no network: servers and clients are NOT tested";
    }
  }

  /// What a shell prints that runs `commands` in the test's folder beside a server without certificates; `$feroma` is
  /// the program, `$port` the server's, and `visits` a client's data.
  Result beside_a_server(const std::string& commands, const std::string& options = "") const {
    write_files();
    return beside_the_server(commands, options);
  }
  /// The same with the config.toml that is there.
  [[nodiscard]] Result beside_the_server(const std::string& commands, const std::string& options) const {
    return shell("cd " + path("") + "; feroma=" + kProgram + "; options='" + options + "'" + R"(
timeout 60 $feroma server config.toml --insecure --listen 127.0.0.1:0 $options >server.out 2>server.err &
)" + kWaitForPort +
                 commands + R"(
code=$?
kill $! 2>/dev/null
wait
exit $code)");
  }
  /// A config for one client or two, and a client's data.
  void write_files() const {
    std::ofstream(path("config.toml"))
        << "[scenario]\nclients = 2\nrounds = 2\ndrifts = 1\n[training]\nmodel = 'mlp'\n"
           "local_epochs = 1\n[[algorithm]]\nname = 'fedavg'\n[server]\ninput = '2'\n"
           "classes = 2\nmin_clients = 1\ngrace_seconds = 0.5\nlinger_seconds = 3\nrejoin_seconds = 6\n"
           "heartbeat_seconds = 1\ndead_seconds = 6\n";
    std::filesystem::create_directory(path("visits"));
    std::ofstream(path("visits/dataset.toml"))
        << "[dataset]\nkind = 'csv'\nfile = 'visits.csv'\nclasses = 2\nlabel_column = 'ill'\n";
    std::ofstream table(path("visits/visits.csv"));
    table << "age,pressure,ill\n";
    for (int i = 0; i < 10; ++i) {
      table << 0.1 * i << ",0.5," << i % 2 << "\n";
    }
  }
};

}  // namespace feroma::test
