#include "feroma/net/client.h"

#include <fmt/core.h>

#include <string>

#include "commands.h"
#include "config.h"
#include "feroma/core/error.h"
#include "feroma/net/server.h"
#include "feroma/runtime/run.h"
#include "interrupt.h"

namespace feroma::cli {
namespace {

struct ClientArguments {
  ConfigArguments config;
  ClientPlan plan;
  bool insecure = false;
};

void work(ClientArguments arguments) {
  require(arguments.insecure != !arguments.plan.authority.empty(), ErrorCode::invalid_config,
          "a client needs --ca, --cert and --key (feroma cert makes them) or, on loopback, --insecure");
  // The server's own file will do: what is about serving does not concern a client.
  const Experiment experiment = read_federation_plan(load_config(arguments.config)).experiment;
  ClientPlan plan = arguments.plan;
  plan.privacy = experiment.privacy;
  plan.note = [](const std::string& text) {
    fmt::print("{}\n", text);
    std::fflush(stdout);
  };
  if (plan.state.empty()) {
    plan.state = fmt::format("client-{}", plan.id);
  }
  const std::unique_ptr<ClientData> data = scenario_client_data(
      std::shared_ptr<const Federation>(make_federation(experiment)), static_cast<ClientId>(plan.id));
  run_client(plan, *data, stop_on_interrupt());
}

}  // namespace

void add_client_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("client", "Take part in a federation with one client's data");
  auto arguments = std::make_shared<ClientArguments>();
  add_config_options(*command, arguments->config);
  command->add_option("--server", arguments->plan.server, "Address and port of the server")->capture_default_str();
  command->add_option("--client", arguments->plan.id, "Which client of the scenario this is")->capture_default_str();
  command->add_option("--state", arguments->plan.state, "Folder of what must not be lost (default: client-<number>)");
  CLI::Option* authority = command->add_option("--ca", arguments->plan.authority, "The federation's ca.pem");
  command->add_option("--cert", arguments->plan.certificate, "This client's certificate")->needs(authority);
  command->add_option("--key", arguments->plan.key, "The key to it")->needs(authority);
  command->add_flag("--insecure", arguments->insecure, "No certificates and no encryption: loopback only")
      ->excludes(authority);
  command->footer("Example:\n  feroma client configs/federation.toml --client 3 --insecure");
  command->callback([arguments] { work(*arguments); });
}

}  // namespace feroma::cli
