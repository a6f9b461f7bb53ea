#include "feroma/net/server.h"

#include <fmt/core.h>

#include <string>

#include "commands.h"
#include "config.h"
#include "feroma/core/error.h"
#include "interrupt.h"

namespace feroma::cli {
namespace {

struct ServerArguments {
  ConfigArguments config;
  std::string state = "federation";
  ListenOptions listen;
  bool insecure = false;
};

void serve(ServerArguments arguments) {
  require(arguments.insecure != !arguments.listen.certificates.empty(), ErrorCode::invalid_config,
          "a server needs --certs FOLDER (feroma cert makes one) or, on loopback, --insecure");
  FederationPlan plan = read_federation_plan(load_config(arguments.config));
  plan.state = arguments.state;
  plan.round_finished = [](const RoundRecord& round, int rounds) {
    fmt::print("round {}/{}: {} clients, {} dropped, accuracy {:.2f} -> {:.2f}, {:.1f} s\n", round.round, rounds,
               round.clients.size(), round.dropped.size(), round.accuracy_before, round.accuracy_after, round.seconds);
    std::fflush(stdout);
  };
  const std::atomic<bool>& stop = stop_on_interrupt();
  FederationServer server(plan, arguments.listen, stop);
  fmt::print("listening on port {}, waiting for {} clients\n", server.port(), plan.server.min_clients);
  std::fflush(stdout);
  server.run();
  fmt::print("all rounds are done; models are in {}\n", (plan.state / "results").string());
}

}  // namespace

void add_server_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("server", "Run a federation: clients come over the network");
  auto arguments = std::make_shared<ServerArguments>();
  add_config_options(*command, arguments->config);
  command->add_option("--state", arguments->state, "Folder of what must not be lost; started again, the server goes on")
      ->capture_default_str();
  command->add_option("--listen", arguments->listen.address, "Address and port")->capture_default_str();
  CLI::Option* certificates =
      command->add_option("--certs", arguments->listen.certificates, "Folder of certificates (feroma cert)");
  command->add_flag("--insecure", arguments->insecure, "No certificates and no encryption: loopback only")
      ->excludes(certificates);
  command->footer("Example:\n  feroma server configs/federation.toml --state federation --insecure");
  command->callback([arguments] { serve(*arguments); });
}

}  // namespace feroma::cli
