// A server and its clients in one process, with a network between them.
#include "feroma/net/client.h"
#include "feroma/net/server.h"
#include "tests/net/federation_fixture.h"

namespace feroma::net::test {
namespace {

class OverGrpc : public FederationTest {
 protected:
  void work(int id, int port) {
    ClientPlan client;
    client.server = fmt::format("127.0.0.1:{}", port);
    client.state = folder / fmt::format("client-{}", id);
    client.id = static_cast<std::uint32_t>(id);
    client.first_pause_seconds = 0.05;
    client.longest_pause_seconds = 0.2;
    const std::unique_ptr<ClientData> data = scenario_client_data(federation, static_cast<ClientId>(id));
    run_client(client, *data, stop);
  }
};

TEST_F(OverGrpc, GivesTheBitsOfTheSimulator) {
  const Experiment what = experiment("name = 'feroma'\nwarmup_rounds = 2");
  const auto expected = simulated(what);
  const FederationPlan todo = plan(what);
  FederationServer server(todo, {"127.0.0.1:0", {}}, stop);
  std::vector<std::jthread> clients;
  for (int id = 0; id < what.scenario.clients; ++id) {
    clients.emplace_back([this, id, &server] { work(id, server.port()); });
  }
  server.run();
  clients.clear();
  EXPECT_TRUE(models_in(todo.state / "results") == expected);
}

}  // namespace
}  // namespace feroma::net::test
