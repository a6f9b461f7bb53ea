// Clients of a federation that write down what they said and heard, for the checker.
//   fault_client --server ADDRESS --state FOLDER --data FOLDER --clients 0,1,2 --log FILE [--clock FACTOR]
//                [--visits yes]
// A client's data and state are in FOLDER/<number>.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include "feroma/core/error.h"
#include "net/agent.h"
#include "net/grpc_link.h"
#include "tests/clocks.h"
#include "tests/faults/arguments.h"

namespace feroma::faults {
namespace {

using net::Ending;

/// One line for each thing that a client said or heard, with the monotonic clock's seconds.
class Log {
 public:
  explicit Log(const std::string& file) : out_(file, std::ios::app) {}

  template <class... Args>
  void write(std::uint32_t client, fmt::format_string<Args...> format, Args&&... args) {
    const double now = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    const std::lock_guard lock(mutex_);
    out_ << fmt::format("{:.6f} {} ", now, client) << fmt::format(format, std::forward<Args>(args)...) << std::endl;
  }

 private:
  std::mutex mutex_;
  std::ofstream out_;
};

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return text.empty() ? "-" : text;
}

/// A connection that writes down what goes through it.
class RecordingLink final : public net::ServerLink {
 public:
  RecordingLink(net::ServerLink& link, Log& log, std::uint32_t client) : link_(link), log_(log), client_(client) {
    log_.write(client_, "connected");
  }

  bool send(const v1::ClientFrame& frame) override {
    if (frame.has_answer()) {
      const v1::Answer& head = frame.answer();
      log_.write(client_, "answer {} {} {} {}", head.round(), head.phase(), hex(head.task()), hex(head.digest()));
    }
    return link_.send(frame);
  }
  bool receive(v1::ServerFrame& frame) override {
    if (!link_.receive(frame)) {
      return false;
    }
    if (frame.has_welcome()) {
      log_.write(client_, "welcome {}", frame.welcome().committed());
    } else if (frame.has_committed()) {
      log_.write(client_, "committed {} {}", frame.committed().round(), frame.committed().phases());
    } else if (frame.has_verdict()) {
      log_.write(client_, "verdict {} {} {}", frame.verdict().round(), frame.verdict().phase(),
                 v1::Reason_Name(frame.verdict().reason()));
    } else if (frame.has_goodbye()) {
      log_.write(client_, "goodbye {}", v1::Reason_Name(frame.goodbye().reason()));
    }
    return true;
  }
  void cancel() override { link_.cancel(); }

 private:
  net::ServerLink& link_;
  Log& log_;
  std::uint32_t client_;
};

/// Pauses between connections are short, so that a test of many restarts ends.
void rest(std::mt19937& random) {
  std::this_thread::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution<int>(5, 40)(random)));
}

ClientPlan plan_of(const Arguments& arguments, std::uint32_t client, const test::ScaledClock& clock) {
  ClientPlan plan;
  plan.clock = &clock;
  plan.server = arguments.require("--server");
  plan.state = std::filesystem::path(arguments.require("--state")) / std::to_string(client);
  plan.id = client;
  plan.connect_seconds = 0.25 / clock_factor(arguments);
  return plan;
}

/// Works until the federation is finished; false where the server refuses the client for good.
bool live(const Arguments& arguments, std::uint32_t client, Log& log, const test::ScaledClock& clock) {
  const ClientPlan plan = plan_of(arguments, client, clock);
  const auto data =
      folder_client_data(std::filesystem::path(arguments.require("--data")) / std::to_string(client), plan.state);
  const Stop stop;
  net::AgentOptions options;
  options.state = plan.state;
  options.id = client;
  options.clock = &clock;
  options.patience_seconds = 4 * plan.connect_seconds;
  net::Agent agent(options, *data, stop);
  std::mt19937 random(client + 1);
  for (;; rest(random)) {
    const std::unique_ptr<net::GrpcLink> link = net::connect(plan, stop).link;
    if (link == nullptr) {
      continue;
    }
    RecordingLink recorded(*link, log, client);
    const Ending ending = link->explain(agent.serve(recorded));
    log.write(client, "ended {}", v1::Reason_Name(ending.reason));
    if (ending.reason == v1::FINISHED) {
      return true;
    }
    if (ending.retry_seconds <= 0) {
      log.write(client, "refused {} {}", v1::Reason_Name(ending.reason), ending.text);
      return false;
    }
  }
}

/// Asks for a model now and then, and goes before it is told.
void visit(const Arguments& arguments, const test::ScaledClock& clock, const std::stop_token& end) {
  std::mt19937 random(0);
  const Stop stop;
  while (!end.stop_requested()) {
    if (const std::unique_ptr<net::GrpcLink> link = net::connect(plan_of(arguments, 0, clock), stop).link) {
      net::Outbox outbox(*link);
      v1::Hello hello;
      hello.set_protocol(net::kProtocol);
      hello.mutable_visit()->set_candidates(1);
      std::string session;
      static_cast<void>(net::introduce(hello, *link, outbox, session));
    }
    rest(random);
  }
}

int run(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  const test::ScaledClock clock(clock_factor(arguments));
  Log log(arguments.require("--log"));
  std::atomic<bool> well = true;
  std::jthread visitor;
  if (arguments.find("--visits")) {
    visitor = std::jthread([&](const std::stop_token& end) { visit(arguments, clock, end); });
  }
  std::vector<std::jthread> clients;
  std::istringstream ids(arguments.require("--clients"));
  for (std::string id; std::getline(ids, id, ',');) {
    clients.emplace_back([&, client = static_cast<std::uint32_t>(std::stoul(id))] {
      try {
        well = live(arguments, client, log, clock) && well;
      } catch (const std::exception& error) {
        log.write(client, "failed {}", error.what());
        well = false;
      }
    });
  }
  clients.clear();
  return well ? 0 : 1;
}

}  // namespace
}  // namespace feroma::faults

int main(int argc, char** argv) {
  try {
    return feroma::faults::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "fault_client: {}\n", error.what());
    return 1;
  }
}
