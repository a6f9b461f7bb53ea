#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "feroma/net/server_options.h"
#include "feroma/report/record.h"
#include "feroma/runtime/experiment.h"

namespace feroma {

/// What a federation is to do, and where its server keeps what it must not lose.
struct FederationPlan {
  Experiment experiment;  ///< with one algorithm; of the scenario only seed, rounds and clients count
  SampleShape input;      ///< of clients' samples
  int classes = 0;
  bool multi_label = false;
  ServerOptions server;
  std::filesystem::path state;
  std::function<void(const RoundRecord&, int rounds)> round_finished = {};  ///< for people
};

}  // namespace feroma
