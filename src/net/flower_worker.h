#pragma once

#include <memory>

#include "feroma/net/flower.h"
#include "net/flower_scalars.h"

namespace feroma::net {

/// What a Flower client does with each request, without the network. Nothing that a server asks ends the client: what
/// it cannot do becomes a status that says why.
class FlowerWorker {
 public:
  FlowerWorker(const FlowerClientPlan& plan, ClientData& data);
  ~FlowerWorker();
  FlowerWorker(const FlowerWorker&) = delete;
  FlowerWorker& operator=(const FlowerWorker&) = delete;

  [[nodiscard]] flower::ClientMessage answer(const flower::ServerMessage& asked);
  /// Bytes of a request, at most.
  [[nodiscard]] std::size_t largest_request() const;

 private:
  struct Work;

  void tell_properties(flower::ClientMessage::GetPropertiesRes& result) const;
  void fit(const flower::ServerMessage::FitIns& asked, flower::ClientMessage::FitRes& result);
  void evaluate(const flower::ServerMessage::EvaluateIns& asked, flower::ClientMessage::EvaluateRes& result);

  const FlowerClientPlan& plan_;
  ClientData& data_;
  std::unique_ptr<Work> work_;
};

}  // namespace feroma::net
