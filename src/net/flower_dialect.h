#pragma once

#include <memory>
#include <optional>

#include "feroma/net/server.h"
#include "net/flower_profile.h"

namespace feroma::net {

/// How a federation's tasks are put into Flower's words.
struct FlowerDialect {
  std::shared_ptr<const ParamLayout> layout;
  Round rounds = 0;
  FitOptions fit;
  double proximal_mu = 0;                  ///< FedProx: its clients are told
  std::optional<FlowerProfiles> profiles;  ///< Feroma: present where clients are asked for profiles
};

/// The dialect of a federation; an `unsupported` error where its method or its privacy asks of clients what Flower's
/// cannot do.
[[nodiscard]] FlowerDialect flower_dialect(const FederationPlan& plan);

/// What every request tells: where the run stands and how to train.
void describe_round(Scalars& config, const FlowerDialect& dialect, Round round);

}  // namespace feroma::net
