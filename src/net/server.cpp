#include "feroma/net/server.h"

#include <thread>

#include "net/coordinator.h"
#include "net/flower_service.h"
#include "net/grpc_server.h"
#include "net/http_page.h"
#include "net/process_status.h"

namespace feroma {

class FederationServer::Parts {
 public:
  Parts(const FederationPlan& plan, const ListenOptions& listen, const Stop& stop)
      : coordinator(plan, stop),
        grpc(coordinator.hub(), listen.address, listen.certificates,
             net::DoorLimits::of(plan.server, plan.experiment.scenario.clients)),
        flower(listen.flower
                   ? std::make_unique<net::FlowerServer>(coordinator.hub(), coordinator.plan(), *listen.flower)
                   : nullptr),
        http(listen.http_address.empty()
                 ? nullptr
                 : std::make_unique<net::HttpPage>(listen.http_address, [this] { return status(); })),
        sweeper([this, &clock = *plan.server.clock](const std::stop_token& end) {
          while (clock.rest_for(1, end)) {
            coordinator.hub().sweep();
            grpc.enforce_list();
          }
        }) {}

  [[nodiscard]] ServerStatus status() {
    ServerStatus status = coordinator.status();
    status.refusals = coordinator.hub().refusals();
    status.refused = grpc.door().counts().refused;
    if (flower != nullptr) {
      for (const auto& [reason, count] : flower->door().counts().refused) {
        status.refused[reason] += count;
      }
    }
    net::measure_process(status);
    return status;
  }

  net::Coordinator coordinator;
  net::GrpcServer grpc;
  std::unique_ptr<net::FlowerServer> flower;
  std::unique_ptr<net::HttpPage> http;
  std::jthread sweeper;  // last: it ends before what it looks after
};

FederationServer::FederationServer(const FederationPlan& plan, const ListenOptions& listen, const Stop& stop)
    : parts_((check_model(plan, listen), std::make_unique<Parts>(plan, listen, stop))) {}

FederationServer::~FederationServer() = default;

int FederationServer::port() const { return parts_->grpc.port(); }
int FederationServer::http_port() const { return parts_->http == nullptr ? 0 : parts_->http->port(); }
int FederationServer::flower_port() const { return parts_->flower == nullptr ? 0 : parts_->flower->port(); }
ServerStatus FederationServer::status() const { return parts_->status(); }

void FederationServer::run() {
  try {
    parts_->coordinator.run();
  } catch (...) {
    parts_->grpc.door().refuse_newcomers();
    parts_->coordinator.hub().dismiss({v1::SHUTTING_DOWN, "the server stops; come again", 1});
    throw;
  }
}

}  // namespace feroma
