#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "feroma/core/stop.h"
#include "feroma/net/flower.h"
#include "feroma/net/server_options.h"
#include "feroma/net/server_status.h"
#include "feroma/report/record.h"
#include "feroma/runtime/experiment.h"

namespace feroma {

/// What a federation is to do, and where its server keeps what it must not lose.
struct FederationPlan {
  Experiment experiment;  ///< with one algorithm; of the scenario only seed, rounds, clients and participation count
  SampleShape input;      ///< of clients' samples
  int classes = 0;
  bool multi_label = false;
  std::vector<std::string> columns;  ///< of a table; none where nobody said
  ServerOptions server;
  std::filesystem::path state;
  bool stay = false;            ///< after the last round: serve visitors until told to stop
  const Stop* drain = nullptr;  ///< set: finish the round under way, then stop
  std::function<void(const RoundRecord&, int rounds)> round_finished = {};  ///< for people
};

/// Reads a server's config: a scenario file of which seed, rounds, clients and participation count, with one algorithm
/// and a [server] table. [membership] and [attack] are refused. The caller adds where the state is kept.
[[nodiscard]] FederationPlan read_federation_plan(const Settings& settings);

/// The plan, for going on with a federation that was begun with this config, perhaps by an earlier version.
[[nodiscard]] FederationPlan as_begun(FederationPlan plan, const std::string& begun_with);
/// Why a federation that was begun with this config may not go on under the plan, perhaps on another machine; empty
/// where it may.
[[nodiscard]] std::string changes_since(const std::string& begun_with, const FederationPlan& plan);

/// Where a server listens, and how clients prove who they are.
struct ListenOptions {
  std::string address = "127.0.0.1:7443";    ///< port 0 takes a free one
  std::filesystem::path certificates;        ///< folder of `feroma cert`; empty: no encryption, on loopback only
  std::string http_address = {};             ///< of /metrics and /healthz; empty: none
  std::optional<FlowerOptions> flower = {};  ///< where clients of the Flower framework come; absent: nowhere
};

/// Refuses a model that nobody who may come can train: clients of ours load no file that a server names.
void check_model(const FederationPlan& plan, const ListenOptions& listen);

/// A federation's server. The constructor opens its state and begins to listen; clients may come from then on.
class FederationServer {
 public:
  FederationServer(const FederationPlan& plan, const ListenOptions& listen, const Stop& stop);
  ~FederationServer();
  FederationServer(const FederationServer&) = delete;
  FederationServer& operator=(const FederationServer&) = delete;

  [[nodiscard]] int port() const;
  /// Of /metrics and of Flower's clients; 0 where there is none.
  [[nodiscard]] int http_port() const;
  [[nodiscard]] int flower_port() const;
  /// How it is just now; from any thread.
  [[nodiscard]] ServerStatus status() const;
  /// Plays every round that is left; an `interrupted` error when it is told to stop.
  void run();

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace feroma
