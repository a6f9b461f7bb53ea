#pragma once

#include "feroma/core/stop.h"
#include "feroma/net/client.h"
#include "feroma/runtime/assigned.h"

namespace feroma {

/// Asks a running server for the model of a client that takes no part in training. Of the plan, the server, the
/// certificates, the state folder and the privacy count. A server that cannot be reached or has nothing to offer yet is
/// asked again for `wait_seconds`.
[[nodiscard]] Assigned visit_server(const ClientPlan& plan, const ReadVisitor& read, const VisitorWish& wish,
                                    double wait_seconds, const Stop& stop);

}  // namespace feroma
