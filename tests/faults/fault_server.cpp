// A federation's server that dies where a test wants it to, or whose disk fails.
//   fault_server CONFIG --state FOLDER --port N [--clock FACTOR] [--kill POINT:N] [--power-loss names|everything]
//                [--fail KIND:N] [--points FILE]
#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/core/log.h"
#include "feroma/net/server.h"
#include "tests/clocks.h"
#include "tests/faults/arguments.h"
#include "tests/faults/injector.h"

namespace feroma::faults {
namespace {

/// Seconds of the monotonic clock, which every program of the harness has in common.
double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Tells the harness when a round is begun and when each of its exchanges is over.
class Narrator final : public FaultHook {
 public:
  explicit Narrator(FaultHook& next) : next_(next) {}

  void passed(const char* point) override {
    const std::string_view name(point);
    if (name == "round.begun" || name == "round.phase_answered" || name == "round.phase_done") {
      fmt::print("{} {:.6f}\n", name, now());
      std::fflush(stdout);
    }
    next_.passed(point);
  }
  FileFault before(const FileCall& call) override { return next_.before(call); }
  void after(const FileCall& call) override { next_.after(call); }

 private:
  FaultHook& next_;
};

Injector::Options injector_options(const Arguments& arguments, const std::filesystem::path& state) {
  Injector::Options options;
  options.state = state;
  options.survivors = state.string() + ".survivors";
  if (const auto kill = arguments.find("--kill")) {
    options.kill = parse_kill(*kill);
  }
  if (const auto fail = arguments.find("--fail")) {
    options.failure = parse_failure(*fail);
  }
  if (const auto loss = arguments.find("--power-loss")) {
    options.power_loss = *loss == "names" ? PowerLoss::names_kept : PowerLoss::everything_lost;
  }
  return options;
}

void write_counts(const Injector& injector, const std::string& file) {
  std::ofstream out(file);
  for (const auto& [point, count] : injector.counts()) {
    out << point << ' ' << count << '\n';
  }
}

void serve(const Arguments& arguments) {
  const std::string config = arguments.require("CONFIG");
  FederationPlan plan = read_federation_plan(parse_settings(read_text(config), config));
  plan.state = arguments.require("--state");
  const test::ScaledClock clock(clock_factor(arguments));
  plan.server.clock = &clock;
  plan.round_finished = [&](const RoundRecord& round, int) {
    const std::chrono::duration<double> seconds = clock.real(Clock::seconds(round.seconds));
    fmt::print("round {} seconds {:.4f} clients {} dropped {} accuracy {:.3f} at {:.6f}\n", round.round,
               seconds.count(), round.clients.size(), round.dropped.size(), round.accuracy_after, now());
    std::fflush(stdout);
  };
  const Stop stop;
  FederationServer server(plan, {"127.0.0.1:" + arguments.require("--port"), {}}, stop);
  fmt::print("listening {}\n", server.port());
  std::fflush(stdout);
  server.run();
}

int run(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  Injector injector(injector_options(arguments, arguments.require("--state")));
  log::set_sink([](const log::Entry& entry) {
    if (entry.severity != log::Severity::debug) {
      fmt::print(stderr, "{}\n", entry.message);
    }
  });
  Narrator narrator(injector);
  install_fault_hook(&narrator);
  int code = 0;
  try {
    serve(arguments);
  } catch (const Error& error) {
    fmt::print(stderr, "fault_server: {}\n", error.what());
    code = exit_code(error.code());
  }
  install_fault_hook(nullptr);
  if (const auto file = arguments.find("--points")) {
    write_counts(injector, *file);
  }
  return code;
}

}  // namespace
}  // namespace feroma::faults

int main(int argc, char** argv) {
  try {
    return feroma::faults::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "fault_server: {}\n", error.what());
    return 1;
  }
}
