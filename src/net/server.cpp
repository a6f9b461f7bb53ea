#include "feroma/net/server.h"

#include <condition_variable>
#include <thread>

#include "net/coordinator.h"
#include "net/grpc_server.h"

namespace feroma {

class FederationServer::Parts {
 public:
  Parts(const FederationPlan& plan, const ListenOptions& listen, const std::atomic<bool>& stop)
      : coordinator(plan, stop),
        grpc(coordinator.hub(), listen.address, listen.certificates),
        sweeper([this, clock = plan.server.clock](const std::stop_token& end) {
          std::mutex resting;
          std::condition_variable_any rest;
          std::unique_lock lock(resting);
          while (!end.stop_requested()) {
            rest.wait_for(lock, end, std::chrono::duration<double>(clock), [] { return false; });
            coordinator.hub().sweep();
          }
        }) {}

  net::Coordinator coordinator;
  net::GrpcServer grpc;
  std::jthread sweeper;  // last: it ends before what it looks after
};

FederationServer::FederationServer(const FederationPlan& plan, const ListenOptions& listen,
                                   const std::atomic<bool>& stop)
    : parts_(std::make_unique<Parts>(plan, listen, stop)) {}

FederationServer::~FederationServer() = default;

int FederationServer::port() const { return parts_->grpc.port(); }

void FederationServer::run() {
  try {
    parts_->coordinator.run();
  } catch (...) {
    parts_->coordinator.hub().dismiss({v1::SHUTTING_DOWN, "the server stops; come again", 1});
    throw;
  }
}

}  // namespace feroma
