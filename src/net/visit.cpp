#include "feroma/net/visit.h"

#include <algorithm>

#include "feroma/core/error.h"
#include "net/grpc_link.h"
#include "net/visitor.h"

namespace feroma {

Assigned visit_server(const ClientPlan& plan, const ReadVisitor& read, const VisitorWish& wish, double wait_seconds,
                      const Stop& stop) {
  net::require_connectable(plan);
  const Clock::time_point until = plan.clock->now() + Clock::seconds(wait_seconds);
  net::VisitorOptions options{plan.state, plan.privacy};
  options.clock = plan.clock;
  options.witness = plan.witness;
  options.data = plan.data_name;
  for (;;) {
    net::Ending ending{v1::REASON_UNSPECIFIED, "", 0.5};
    if (const net::Attempt attempt = net::connect(plan, stop); attempt.link != nullptr) {
      std::variant<Assigned, net::Ending> result = net::pay_visit(*attempt.link, options, read, wish, stop);
      if (auto* assigned = std::get_if<Assigned>(&result)) {
        return std::move(*assigned);
      }
      ending = attempt.link->explain(std::get<net::Ending>(std::move(result)));
    } else {
      ending.text = fmt::format("{} cannot be reached: {}", plan.server, attempt.reason);
    }
    require(!stop.requested(), ErrorCode::interrupted, "the visit was told to stop");
    require(ending.retry_seconds > 0, ErrorCode::unsupported, "the server refuses this visit ({}): {}",
            v1::Reason_Name(ending.reason), ending.text);
    const Clock::time_point again = plan.clock->now() + Clock::seconds(ending.retry_seconds);
    require(again < until, ErrorCode::io, "no model after {} s: {}", wait_seconds, ending.text);
    plan.clock->rest_until(again, stop.token());
  }
}

}  // namespace feroma
