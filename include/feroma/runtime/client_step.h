#pragma once

#include <functional>
#include <string>
#include <variant>

#include "feroma/algorithms/algorithm.h"
#include "feroma/drift/federation.h"

namespace feroma {

struct ClientAnswer {
  Message message;
  std::int64_t bytes_up = 0;
};
/// Dropping out is normal; the round goes on without the client.
struct ClientDropped {
  std::string reason;
};

/// What one exchange with one client gave.
struct ClientOutcome {
  std::variant<ClientAnswer, ClientDropped> answer;
  ClientReport report;
  StageSeconds seconds;
  std::int64_t bytes_down = 0;
  Passes passes;
};

/// What a client keeps between steps.
struct ClientMemory {
  Message state;
  int window = -1;  ///< the data version it last saw
};

/// A client as it enters a step: who it is, what data it has, and how it tells of them.
struct ClientSeat {
  ClientId id{};
  Rng rng{0};  ///< the client's own stream of this round
  const ClientShard& shard;
  std::function<View(int window)> train_of_window;  ///< see ClientContext
  Disclosure* disclosure = nullptr;                 ///< null without a budget
};

/// The client's part of one phase, wherever it runs: announces new data, takes the step and measures it. An
/// invalid_data error means that the client drops out; any other one is ours and passes through.
[[nodiscard]] ClientOutcome take_step(const Algorithm& algorithm, Round round, int task, const Message& received,
                                      const ClientSeat& seat, ClientMemory& memory, Trainer& trainer);

/// A client's stream of a round, from the run's root stream; the same in a simulation and in a federation.
[[nodiscard]] Rng client_stream(const Rng& root, ClientId client, Round round);

}  // namespace feroma
