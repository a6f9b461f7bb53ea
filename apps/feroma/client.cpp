#include "feroma/net/client.h"

#include <fmt/core.h>

#include <string>

#include "commands.h"
#include "config.h"
#include "feroma/core/error.h"
#include "feroma/net/flower.h"
#include "feroma/net/server.h"
#include "feroma/runtime/run.h"
#include "feroma/runtime/visitor_ledger.h"
#include "interrupt.h"
#include "log_output.h"
#include "owner_only.h"

namespace feroma::cli {
namespace {

struct ClientArguments {
  ConfigArguments config;
  ClientPlan plan;
  std::string data;
  std::string flower;
  bool insecure = false;
};

std::unique_ptr<ClientData> data_of(const ClientArguments& arguments, ClientPlan& plan) {
  if (!arguments.data.empty()) {
    plan.privacy = own_privacy(arguments.config);
    if (std::filesystem::is_directory(arguments.data)) {  // what is no folder is for the reader to refuse
      plan.witness = witness_file(arguments.data, plan.witness);
    }
    return folder_client_data(arguments.data, plan.state);
  }
  require(!arguments.config.file.empty(), ErrorCode::invalid_config,
          "a client needs --data FOLDER, or a scenario of which it plays one client");
  require(plan.id.has_value(), ErrorCode::invalid_config, "--client must say which client of the scenario this is");
  if (!plan.witness.empty()) {
    plan.witness /= fmt::format("client-{}-releases", *plan.id);
  }
  // The server's own file will do: what is about serving does not concern a client.
  const Experiment experiment = read_federation_plan(load_config(arguments.config)).experiment;
  plan.privacy = experiment.privacy;
  return scenario_client_data(std::shared_ptr<const Federation>(make_federation(experiment)),
                              static_cast<ClientId>(*plan.id));
}

/// Works for a server of the Flower framework instead of one of ours.
void work_for_flower(const ClientArguments& arguments) {
  require(!arguments.config.file.empty(), ErrorCode::invalid_config,
          "--flower needs a config whose [training] says which model is trained");
  const Experiment experiment = read_federation_plan(load_config(arguments.config)).experiment;
  require(!experiment.training.standardise, ErrorCode::invalid_config,
          "training.standardise must be false with --flower: a server of Flower does not say how inputs are scaled");
  FlowerClientPlan plan;
  plan.server = arguments.flower;
  plan.authority = arguments.plan.authority;
  plan.id = arguments.plan.id.value_or(0);
  plan.training = experiment.training;
  plan.privacy = experiment.privacy;
  plan.seed = static_cast<std::uint64_t>(experiment.scenario.seed);
  plan.note = [](const std::string& text) { print_news(text, {}); };
  const std::filesystem::path state =
      arguments.plan.state.empty() ? fmt::format("flower-client-{}", plan.id) : arguments.plan.state.string();
  const std::unique_ptr<ClientData> data =
      arguments.data.empty() ? scenario_client_data(std::shared_ptr<const Federation>(make_federation(experiment)),
                                                    static_cast<ClientId>(plan.id))
                             : folder_client_data(arguments.data, state);
  run_flower_client(plan, *data, stop_on_interrupt());
}

void work(const ClientArguments& arguments) {
  const OwnerOnly made;
  if (!arguments.flower.empty()) {
    work_for_flower(arguments);
    return;
  }
  require(arguments.insecure || arguments.plan.has_certificates(), ErrorCode::invalid_config,
          "a client needs --ca, --cert and --key (feroma cert makes them) or, on loopback, --insecure");
  ClientPlan plan = arguments.plan;
  plan.note = print_news;
  require(!arguments.insecure || plan.id.has_value(), ErrorCode::invalid_config,
          "without certificates --client must say which client this is");
  if (plan.state.empty()) {
    plan.state = plan.id ? fmt::format("client-{}", *plan.id) : plan.certificate.stem().string() + "-state";
  }
  const std::unique_ptr<ClientData> data = data_of(arguments, plan);
  run_client(plan, *data, stop_on_interrupt());
}

}  // namespace

void add_client_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("client", "Take part in a federation with one client's data");
  auto arguments = std::make_shared<ClientArguments>();
  command->add_option("CONFIG", arguments->config.file,
                      "Without --data a scenario, of which this is one client; with it the client's own [privacy]");
  command->add_option("--set", arguments->config.overrides, "Override a key (repeatable)")->allow_extra_args(false);
  command->add_option("--data", arguments->data,
                      "Folder of the client's own data (docs/data.md); may change meanwhile");
  command->add_option("--server", arguments->plan.server, "Address and port of the server")->capture_default_str();
  command->add_option("--client", arguments->plan.id,
                      "Which client this is, by number; certificates say it themselves");
  command->add_option("--state", arguments->plan.state,
                      "Folder of what must not be lost (default: client-<number> or <certificate>-state; with --flower "
                      "flower-client-<number>)");
  command->add_option("--witness", arguments->plan.witness,
                      "Folder of the file that counts what is told of the data under a privacy budget (default: the "
                      "one with DATA; a scenario's clients have none)");
  CLI::Option* authority = command->add_option("--ca", arguments->plan.authority, "The federation's ca.pem");
  command->add_option("--cert", arguments->plan.certificate, "This client's certificate")->needs(authority);
  command->add_option("--key", arguments->plan.key, "The key to it")->needs(authority);
  command->add_flag("--insecure", arguments->insecure, "No certificates and no encryption: loopback only")
      ->excludes(authority);
  command->add_option("--flower", arguments->flower,
                      "Join this server of the Flower framework instead (docs/flower.md)");
  command->footer(
      "Example:\n  feroma client --data ./visits --server fed.example.org:7443 --ca ca.pem --cert a.pem --key a.key\n"
      "  feroma client configs/federation.toml --client 3 --insecure");
  command->callback([arguments] { work(*arguments); });
}

}  // namespace feroma::cli
