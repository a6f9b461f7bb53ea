// Many clients without data in one process, to see what a server bears. See benchmarks/load/run.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "feroma/core/error.h"
#include "feroma/core/simd.h"
#include "feroma/net/certificates.h"
#include "load_client.h"

namespace feroma::load {
namespace {

struct Arguments {
  std::string server = "127.0.0.1:7443";
  std::string certificates;
  std::uint32_t clients = 100;
  double seconds = 60;
  double heartbeat_seconds = 10;
  double ramp_seconds = 10;
  bool make_certificates = false;
  bool until_finished = false;
};

void make_certificates(const Arguments& arguments) {
  make_authority(arguments.certificates);
  issue_server(arguments.certificates, {"127.0.0.1", "localhost"});
  for (std::uint32_t id = 0; id < arguments.clients; ++id) {
    static_cast<void>(issue_client(arguments.certificates, "load-" + std::to_string(id), static_cast<ClientId>(id)));
  }
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) {
    return 0;
  }
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

void run(const Arguments& arguments) {
  Shared shared;
  shared.server = arguments.server;
  shared.certificates = arguments.certificates;
  shared.heartbeat_seconds = arguments.heartbeat_seconds;
  std::vector<std::unique_ptr<LoadClient>> clients;
  const Clock::time_point begin = Clock::now();
  const auto since = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  std::optional<double> all_there;
  int fewest = 0;
  double reported = 0;
  while (since() < arguments.seconds && !(arguments.until_finished && shared.goodbyes == arguments.clients)) {
    const auto wanted = std::min<std::size_t>(
        arguments.clients, static_cast<std::size_t>(since() / arguments.ramp_seconds * arguments.clients) + 1);
    while (clients.size() < wanted) {
      clients.push_back(std::make_unique<LoadClient>(shared, static_cast<std::uint32_t>(clients.size())));
    }
    const Clock::time_point now = Clock::now();
    for (const auto& client : clients) {
      client->tick(now);
    }
    const int connected = shared.connected;
    if (!all_there && connected == static_cast<int>(arguments.clients)) {
      all_there = since();
      fewest = connected;
    }
    fewest = all_there ? std::min(fewest, connected) : 0;
    if (since() - reported > 10) {
      reported = since();
      fmt::print(stderr, "{:.0f} s: {} connected, round {}, {} answers, {} lost\n", reported, connected,
                 shared.committed.load(), shared.answers.load(), shared.lost.load());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const std::uint64_t lost = shared.lost;  // those that are ended now are our own doing
  const int connected_at_the_end = shared.connected;
  const double seconds = since();
  clients.clear();
  const nlohmann::ordered_json result = {
      {"clients", arguments.clients},
      {"seconds", seconds},
      {"all_connected_after", all_there ? nlohmann::ordered_json(*all_there) : nullptr},
      {"fewest_connected_after_that", fewest},
      {"connected_at_the_end", connected_at_the_end},
      {"lost", lost},
      {"goodbyes", shared.goodbyes.load()},
      {"answers", shared.answers.load()},
      {"last_round", shared.committed.load()},
      {"beats", shared.beat_seconds.size()},
      {"beat_p50_ms", 1e3 * quantile(shared.beat_seconds, 0.5)},
      {"beat_p99_ms", 1e3 * quantile(shared.beat_seconds, 0.99)},
      {"beat_max_ms", 1e3 * quantile(shared.beat_seconds, 1)}};
  fmt::print("{}\n", result.dump(2));
}

}  // namespace
}  // namespace feroma::load

int main(int argc, char** argv) {
  feroma::load::Arguments arguments;
  CLI::App app("Many clients without data, to see what a server bears");
  app.add_option("--server", arguments.server, "Address and port")->capture_default_str();
  app.add_option("--certs", arguments.certificates, "Folder of certificates named load-<number>; none: plain text");
  app.add_option("--clients", arguments.clients, "How many")->capture_default_str();
  app.add_option("--seconds", arguments.seconds, "For how long, at most")->capture_default_str();
  app.add_option("--heartbeat", arguments.heartbeat_seconds, "Seconds between heartbeats")->capture_default_str();
  app.add_option("--ramp", arguments.ramp_seconds, "Seconds over which they come")->capture_default_str();
  app.add_flag("--make-certs", arguments.make_certificates, "Only make the certificates");
  app.add_flag("--until-finished", arguments.until_finished, "End when the server has dismissed everybody");
  CLI11_PARSE(app, argc, argv);
  try {
    if (arguments.make_certificates) {
      feroma::load::make_certificates(arguments);
    } else {
      feroma::load::run(arguments);
    }
  } catch (const feroma::Error& error) {
    fmt::print(stderr, "load: {}\n", error.what());
    return 1;
  }
  return 0;
}
