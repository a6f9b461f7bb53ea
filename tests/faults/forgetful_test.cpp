// A client whose state folder is lost is a newcomer: it is sent again what it needs, whatever the method.
#include "tests/faults/every_method.h"
#include "tests/faults/tiny_federation.h"

namespace feroma::faults {
namespace {

constexpr Round kOften = 3;

/// A connection that is lost when every third round was finished.
class CutByNews final : public ServerLink {
 public:
  explicit CutByNews(Hub& hub) : pipe_(hub) {}

  bool send(const v1::ClientFrame& frame) override { return pipe_.send(frame); }
  bool receive(v1::ServerFrame& frame) override {
    return pipe_.receive(frame) && !(frame.has_committed() && frame.committed().round() % kOften == 0);
  }
  void cancel() override { pipe_.cancel(); }

 private:
  Pipe pipe_;
};

class Forgetful : public TinyFederation {
 protected:
  /// Takes part, and loses everything with its connection.
  void live_without_memory(Hub& hub, std::uint32_t id) {
    for (bool finished = false; !finished;) {
      const feroma::test::TempFolder state;
      AgentOptions options{state.path(), id};
      options.patience_seconds = 30;
      options.clock = &tiny_clock();
      const std::unique_ptr<ClientData> data = data_of(id);
      Agent agent(options, *data, stop);
      CutByNews link(hub);
      finished = agent.serve(link).reason == v1::FINISHED;
    }
  }
};

TEST_F(Forgetful, ClientsOfEveryMethodAreSentWhatTheyLost) {
  constexpr std::uint32_t kClients = 4;
  constexpr std::uint32_t kLoser = 1;
  for (const Method& method : every_method()) {
    SCOPED_TRACE(method.name);
    FederationPlan todo = plan(kClients, 2 * kOften, method.toml, method.name);
    int finished = 0;
    todo.round_finished = [&](const RoundRecord& record, int) {
      // A round that had begun when the client came again cannot be made to fit it.
      const bool may_be_missed = ++finished % kOften == 1;
      for (const DroppedRecord& dropped : record.dropped) {
        EXPECT_TRUE(may_be_missed && dropped.client == kLoser)
            << "round " << finished << ": client " << dropped.client << ": " << dropped.reason;
      }
    };
    Coordinator coordinator(todo, stop);
    {
      std::vector<std::jthread> clients;
      for (const std::uint32_t id : first(kClients)) {
        clients.emplace_back([&, id] {
          id == kLoser ? live_without_memory(coordinator.hub(), id) : live(coordinator.hub(), id, todo.state, {});
        });
      }
      coordinator.run();
    }
    EXPECT_GE(finished, 2 * kOften);
  }
}

}  // namespace
}  // namespace feroma::faults
