#include "feroma/net/client_data.h"

#include <algorithm>

#include "feroma/core/error.h"

namespace feroma {
namespace {

class ScenarioData final : public ClientData {
 public:
  ScenarioData(std::shared_ptr<const Federation> federation, ClientId id)
      : federation_(std::move(federation)), id_(id) {}

  [[nodiscard]] SampleShape shape() const override { return federation_->shape(); }
  [[nodiscard]] int classes() const override { return federation_->classes(); }
  [[nodiscard]] bool multi_label() const override { return federation_->multi_label(); }

  // Rounds past the schedule run on the last round's data.
  [[nodiscard]] ClientShard shard(Round round) override {
    return federation_->shard(id_, std::min(round, federation_->options().rounds));
  }

  [[nodiscard]] View train_of_window(int window) override {
    return federation_->shard(id_, federation_->schedule().first_round(window)).train;
  }

 private:
  std::shared_ptr<const Federation> federation_;
  ClientId id_;
};

}  // namespace

std::unique_ptr<ClientData> scenario_client_data(std::shared_ptr<const Federation> federation, ClientId id) {
  require(to_index(id) < static_cast<std::uint32_t>(federation->options().clients), ErrorCode::invalid_config,
          "the scenario has {} clients, there is no client {}", federation->options().clients, to_index(id));
  return std::make_unique<ScenarioData>(std::move(federation), id);
}

}  // namespace feroma
