// A server and its clients in one process, with a network between them.
#include "feroma/net/certificates.h"
#include "feroma/net/client.h"
#include "feroma/net/server.h"
#include "tests/core/expect_error.h"
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
    if (std::filesystem::exists(folder / "certs")) {
      client.authority = authority_files(folder / "certs").certificate;
      const CertificateFiles own = client_files(folder / "certs", fmt::format("site-{}", id));
      client.certificate = own.certificate;
      client.key = own.key;
      client.id = {};  // the certificate says who it is
    }
    const std::unique_ptr<ClientData> data = scenario_client_data(federation, static_cast<ClientId>(id));
    run_client(client, *data, stop);
  }
};

TEST_F(OverGrpc, GivesTheBitsOfTheSimulator) {
  const Experiment what = experiment("name = 'feroma'\nwarmup_rounds = 2");
  const auto expected = simulated(what);
  make_authority(folder / "certs");
  issue_server(folder / "certs", {"127.0.0.1"});
  for (int id = 0; id < what.scenario.clients; ++id) {
    static_cast<void>(issue_client(folder / "certs", fmt::format("site-{}", id), static_cast<ClientId>(id)));
  }
  const FederationPlan todo = plan(what);
  FederationServer server(todo, {"127.0.0.1:0", folder / "certs"}, stop);
  std::vector<std::jthread> clients;
  for (int id = 0; id < what.scenario.clients; ++id) {
    clients.emplace_back([this, id, &server] { work(id, server.port()); });
  }
  server.run();
  clients.clear();
  EXPECT_TRUE(models_in(todo.state / "results") == expected);
}

TEST_F(OverGrpc, WhoIsNotOnTheListStaysOut) {
  make_authority(folder / "certs");
  issue_server(folder / "certs", {"127.0.0.1"});
  static_cast<void>(issue_client(folder / "certs", "site-0", ClientId{0}));
  static_cast<void>(issue_client(folder / "certs", "site-1", ClientId{1}));
  const FederationPlan todo = plan(experiment("name = 'fedavg'"));
  const FederationServer server(todo, {"127.0.0.1:0", folder / "certs"}, stop);
  revoke_client(folder / "certs", "site-1");
  const std::string revoked = testing::error_of(ErrorCode::unsupported, [&] { work(1, server.port()); });
  EXPECT_TRUE(testing::holds(revoked, "the certificate of site-1 was revoked"));
  write_file_atomically(client_list_file(folder / "certs"), std::string_view("# nobody\n"));
  const std::string unknown = testing::error_of(ErrorCode::unsupported, [&] { work(0, server.port()); });
  EXPECT_TRUE(testing::holds(unknown, "is not on the list"));
}

TEST_F(OverGrpc, PlainTextIsForLoopbackOnly) {
  const FederationPlan todo = plan(experiment("name = 'fedavg'"));
  const std::string error = testing::error_of(ErrorCode::invalid_config, [&] {
    FederationServer server(todo, {"0.0.0.0:0", {}}, stop);
  });
  EXPECT_TRUE(testing::holds(error, "loopback only"));
}

}  // namespace
}  // namespace feroma::net::test
