#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "feroma/runtime/attack.h"
#include "feroma/runtime/client_step.h"
#include "feroma/runtime/disclosures.h"
#include "feroma/runtime/workers.h"

namespace feroma {

/// Where clients are: in this process, or at the other end of a network.
class ClientPool {
 public:
  virtual ~ClientPool() = default;

  /// One phase with every participant; the outcomes do not depend on the order in which clients finish.
  [[nodiscard]] virtual std::map<ClientId, ClientOutcome> exchange(const Algorithm& algorithm, Round round, int phase,
                                                                   std::span<const ClientId> participants) = 0;
  /// An answer of the last exchange is refused beside those of the others; for pools that count.
  virtual void refused_beside_others() {}
  /// What the log calls a client: its number, and its name where the pool knows one.
  [[nodiscard]] virtual std::string called(ClientId client) const { return std::to_string(to_index(client)); }
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
  struct Task {
    ClientId client;
    ClientMemory* memory;
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
  std::map<ClientId, ClientMemory> memories_;
};

}  // namespace feroma
