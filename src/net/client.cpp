#include "feroma/net/client.h"

#include <algorithm>
#include <random>

#include "feroma/core/error.h"
#include "net/agent.h"
#include "net/grpc_link.h"

namespace feroma {
namespace {

using net::Ending;

/// Pauses that double up to a limit, each drawn from the whole of it, so that many clients do not come back at once.
class Backoff {
 public:
  explicit Backoff(const ClientPlan& plan) : plan_(plan), pause_(plan.first_pause_seconds) {}

  void reset() { pause_ = plan_.first_pause_seconds; }
  [[nodiscard]] double next() {
    const double drawn = std::uniform_real_distribution<double>(0, pause_)(random_);
    pause_ = std::min(2 * pause_, plan_.longest_pause_seconds);
    return drawn;
  }

 private:
  const ClientPlan& plan_;
  double pause_;
  std::mt19937_64 random_{std::random_device()()};
};

}  // namespace

void run_client(const ClientPlan& plan, ClientData& data, const Stop& stop) {
  const auto note = [&](const std::string& text, std::initializer_list<log::Field> fields) {
    if (plan.note) {
      plan.note(text, fields);
    }
  };
  net::require_connectable(plan);
  net::AgentOptions options{plan.state, plan.id, plan.privacy, plan.witness};
  options.patience_seconds = 2 * plan.connect_seconds;
  options.clock = plan.clock;
  options.note = plan.note;
  net::Agent agent(std::move(options), data, stop);
  Backoff backoff(plan);
  for (;;) {
    require(!stop.requested(), ErrorCode::interrupted, "the client was told to stop");
    Ending ending{v1::REASON_UNSPECIFIED, "", 1};
    if (const net::Attempt attempt = net::connect(plan, stop); attempt.link != nullptr) {
      const int before = agent.steps();
      ending = attempt.link->explain(agent.serve(*attempt.link));
      if (agent.steps() > before) {
        backoff.reset();
      }
    } else {
      ending.text = "no connection: " + attempt.reason;
    }
    if (ending.reason == v1::FINISHED) {
      note("the federation is finished", {});
      return;
    }
    require(!stop.requested(), ErrorCode::interrupted, "the client was told to stop");
    require(ending.retry_seconds > 0, ErrorCode::unsupported, "the server refuses this client ({}): {}",
            v1::Reason_Name(ending.reason), ending.text);
    const double pause = std::max(backoff.next(), ending.reason == v1::SHUTTING_DOWN ? ending.retry_seconds : 0.0);
    note(fmt::format("{}; again in {:.1f} s", ending.text, pause), {{"reason", ending.text}, {"seconds", pause}});
    plan.clock->rest_for(pause, stop.token());
  }
}

}  // namespace feroma
