#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "feroma/core/clock.h"
#include "feroma/core/stop.h"
#include "feroma/net/client_data.h"
#include "feroma/runtime/experiment.h"

namespace feroma {

/// Where a federation's server listens for clients of the Flower framework. Nothing proves who they are: see
/// docs/flower.md.
struct FlowerOptions {
  std::string address = "127.0.0.1:8080";  ///< port 0 takes a free one
  /// Folder of `feroma cert` with the server's certificate; empty: no encryption, on loopback only.
  std::filesystem::path certificates = {};
  double restart_seconds = 20;  ///< when clients come again after the server was stopped
};

/// One client of a server of the Flower framework (flwr.server.start_server).
struct FlowerClientPlan {
  std::string server = "127.0.0.1:8080";
  std::filesystem::path authority = {};  ///< what the server's certificate is checked with; empty: loopback only
  std::uint32_t id = 0;                  ///< told to servers that ask
  TrainingOptions training;              ///< the model, and how to train where the server does not say
  std::uint64_t seed = 42;
  PrivacyOptions privacy = {};  ///< what the client asks for: anything but `off` is refused, no Flower server offers it
  double connect_seconds = 5;
  double first_pause_seconds = 0.5;  ///< between connections; doubles up to the longest
  double longest_pause_seconds = 20;
  const Clock* clock = &Clock::machine();             ///< every time above is by it, and what a server says
  std::function<void(const std::string&)> note = {};  ///< what happens, for people
};

/// Works for a Flower server until it says that it is over; lost connections are made again. Being told to stop is an
/// `interrupted` error, privacy that cannot be had an `invalid_config` one.
void run_flower_client(const FlowerClientPlan& plan, ClientData& data, const Stop& stop);

}  // namespace feroma
