#pragma once

#include <filesystem>
#include <variant>

#include "feroma/core/stop.h"
#include "feroma/runtime/assigned.h"
#include "net/intake.h"

namespace feroma::net {

struct VisitorOptions {
  std::filesystem::path state;  ///< of its ledger, where profiles are under a budget
  PrivacyOptions privacy = {};  ///< the least that this client asks for
  double patience_seconds = 30;
  const Clock* clock = &Clock::machine();  ///< for the patience
  std::filesystem::path witness = {};      ///< as of AgentOptions
  std::string data = {};                   ///< a name for the data, by which the server counts; empty: it does not
};

/// A client that takes no part in training, over one connection: describes its data without labels, takes the offer and
/// chooses where it is to. An ending where the server had none.
[[nodiscard]] std::variant<Assigned, Ending> pay_visit(ServerLink& link, const VisitorOptions& options,
                                                       const ReadVisitor& read, const VisitorWish& wish,
                                                       const Stop& stop);

}  // namespace feroma::net
