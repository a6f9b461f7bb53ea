#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "feroma/algorithms/algorithm.h"
#include "feroma/drift/federation.h"
#include "feroma/runtime/attack.h"
#include "feroma/runtime/disclosures.h"
#include "feroma/runtime/workers.h"

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

/// Where clients are: in this process, or at the other end of a network.
class ClientPool {
 public:
  virtual ~ClientPool() = default;

  /// One phase with every participant; the outcomes do not depend on the order in which clients finish.
  [[nodiscard]] virtual std::map<ClientId, ClientOutcome> exchange(const Algorithm& algorithm, Round round, int phase,
                                                                   std::span<const ClientId> participants) = 0;
  /// What the clients remember, for a checkpoint.
  virtual void save(ModelWriter& out) const = 0;
  virtual void load(ModelReader& in) = 0;
};

/// Simulated clients: whole clients per worker, data made on demand.
class SimulatedPool final : public ClientPool {
 public:
  /// `task_order_seed` permutes the order in which clients run; results must not change. `attack` says who lies.
  SimulatedPool(const Federation& federation, Workers& workers, const Rng& rng, const std::atomic<bool>& stop,
                std::optional<std::uint64_t> task_order_seed = std::nullopt, const AttackOptions& attack = {},
                Disclosures* disclosures = nullptr);

  [[nodiscard]] std::map<ClientId, ClientOutcome> exchange(const Algorithm& algorithm, Round round, int phase,
                                                           std::span<const ClientId> participants) override;
  /// Whether the client has taken part before.
  [[nodiscard]] bool knows(ClientId client) const { return memories_.contains(client); }
  /// What those of the clients that have ever taken part remember; valid until the next exchange.
  [[nodiscard]] Memories memories(std::span<const ClientId> clients) const;
  void save(ModelWriter& out) const override;
  void load(ModelReader& in) override;

 private:
  struct Memory {
    Message state;
    int window = -1;
  };
  struct Task {
    ClientId client;
    Memory* memory;
    ClientOutcome* outcome;
    Disclosure* disclosure;
  };
  void one_client(const Algorithm& algorithm, Round round, int phase, const Task& task, Trainer& trainer) const;
  void forge_profiles(Round round, std::map<ClientId, ClientOutcome>& outcomes) const;

  const Federation& federation_;
  Workers& workers_;
  Rng rng_;
  const std::atomic<bool>& stop_;
  std::optional<std::uint64_t> task_order_seed_;
  Attack attack_;
  Disclosures* disclosures_;  ///< null where profiles are not under a budget
  std::map<ClientId, Memory> memories_;
};

}  // namespace feroma
