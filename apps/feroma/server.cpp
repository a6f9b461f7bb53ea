#include "feroma/net/server.h"

#include <fmt/core.h>
#include <malloc.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "checks.h"
#include "commands.h"
#include "config.h"
#include "feroma/core/error.h"
#include "feroma/core/log.h"
#include "feroma/dashboard/dashboard.h"
#include "feroma/net/server_check.h"
#include "feroma/store/round_log.h"
#include "interrupt.h"
#include "log_output.h"
#include "owner_only.h"

namespace feroma::cli {
namespace {

struct ServerArguments {
  ConfigArguments config;
  std::string state = "federation";
  ListenOptions listen;
  std::string flower_address;
  std::string dashboard_address;
  std::string dashboard_token;
  bool insecure = false;
  bool stay = false;
  bool check = false;
  bool set_damage_aside = false;
  Format format = Format::text;
};

/// What `--check` found; a problem is a failure.
void print_check(const std::vector<CheckLine>& lines, Format format) {
  if (format == Format::json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const CheckLine& line : lines) {
      rows.push_back({{"verdict", name_of(line.verdict)},
                      {"subject", line.subject},
                      {"text", line.text},
                      {"advice", line.advice}});
    }
    fmt::print("{}\n", rows.dump(2));
  } else {
    fmt::print("{}", check_table(lines));
  }
  std::fflush(stdout);
  require(!has_problem(lines), ErrorCode::io, "the server cannot start as things are");
}

/// One line per round. Accuracies stand in it where clients told them; in a log for programs they are null elsewhere.
void print_round(const RoundRecord& round, int rounds) {
  if (logs_json()) {
    log::write(log::Severity::info, fmt::format("round {}/{} is finished", round.round, rounds),
               {{"round", round.round},
                {"rounds", rounds},
                {"clients", round.clients.size()},
                {"dropped", round.dropped.size()},
                {"accuracy_before", round.accuracy_before},
                {"accuracy_after", round.accuracy_after},
                {"seconds", round.seconds}});
    return;
  }
  const bool told = std::isfinite(round.accuracy_before) && std::isfinite(round.accuracy_after);
  fmt::print("round {}/{}: {} clients, {} dropped, {}{:.1f} s\n", round.round, rounds, round.clients.size(),
             round.dropped.size(),
             told ? fmt::format("accuracy {:.2f} as served, {:.2f} after training, ", round.accuracy_before,
                                round.accuracy_after)
                  : "",
             round.seconds);
  std::fflush(stdout);
}

/// What the dashboard shows of a server beside its files.
LiveStatus live_status(const FederationServer& server) {
  const ServerStatus status = server.status();
  const nlohmann::ordered_json health{{"version", status.version},
                                      {"uptime_seconds", status.uptime_seconds},
                                      {"healthy", status.healthy},
                                      {"reason", status.reason},
                                      {"draining", status.draining},
                                      {"round", status.round},
                                      {"phase", status.phase},
                                      {"rounds_finished", status.rounds_finished},
                                      {"rounds_planned", status.rounds_planned},
                                      {"clients", status.clients},
                                      {"connections", status.connections},
                                      {"connections_made", status.connections_made},
                                      {"answers", status.answers},
                                      {"refused", status.refused},
                                      {"bytes_up", status.bytes_up},
                                      {"bytes_down", status.bytes_down},
                                      {"memory_bytes", status.memory_bytes},
                                      {"descriptors", status.descriptors},
                                      {"threads", status.threads}};
  return {health.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace), status.heard, status.refusals};
}

/// Null where nobody wants one.
std::unique_ptr<Dashboard> open_dashboard(const ServerArguments& arguments, const FederationServer& server) {
  if (arguments.dashboard_address.empty()) {
    return nullptr;
  }
  auto page = std::make_unique<Dashboard>(DashboardOptions{arguments.state, arguments.dashboard_address,
                                                           arguments.dashboard_token,
                                                           [&server] { return live_status(server); }});
  fmt::print("dashboard: {}\n", page->url());
  return page;
}

/// Opens the page for a moment: its address may be taken, its token file unreadable, or this build without one.
CheckLine check_dashboard(const ServerArguments& arguments) {
  try {
    const Dashboard page({arguments.state, arguments.dashboard_address, arguments.dashboard_token});
    return {CheckVerdict::ok, "dashboard", fmt::format("{} is free", arguments.dashboard_address), ""};
  } catch (const Error& error) {
    return {CheckVerdict::problem, "dashboard", error.what(), "change --dashboard or --dashboard-token-file"};
  }
}

std::string what_comes_next(const ServerStatus& status, int min_clients) {
  if (status.rounds_finished == 0) {
    return fmt::format("waiting for {} clients", min_clients);
  }
  return status.rounds_finished < status.rounds_planned ? fmt::format("going on after round {}", status.rounds_finished)
                                                        : fmt::format("all {} rounds are done", status.rounds_finished);
}

/// The operator's word that a journal's damaged end may go, and lines for people; nothing is started.
void set_damage_aside(const std::string& state) {
  const OwnerOnly made;
  const std::vector<std::string> done = RoundLog::set_damage_aside(state);
  for (const std::string& sentence : done) {
    fmt::print("{}\n", sentence);
  }
  if (done.empty()) {
    fmt::print("{}: neither the journal nor what grows with it is damaged\n", state);
  }
}

void serve(ServerArguments arguments) {
  if (arguments.set_damage_aside) {
    set_damage_aside(arguments.state);
    return;
  }
  require(arguments.insecure != !arguments.listen.certificates.empty(), ErrorCode::invalid_config,
          "a server needs --certs FOLDER (feroma cert makes one) or, on loopback, --insecure");
  FederationPlan plan = read_federation_plan(load_config(arguments.config));
  plan.state = arguments.state;
  plan.stay = arguments.stay;
  if (!arguments.flower_address.empty()) {
    arguments.listen.flower = FlowerOptions{arguments.flower_address, arguments.listen.certificates};
  }
  if (arguments.check) {
    std::vector<CheckLine> lines = check_server(plan, arguments.listen, arguments.dashboard_address);
    if (!arguments.dashboard_address.empty()) {
      lines.push_back(check_dashboard(arguments));
    }
    print_check(lines, arguments.format);
    return;
  }
  for (const AdaptedDefault& one : plan.experiment.all_adapted()) {
    log::info("{}", one.text());
  }
  const OwnerOnly made;
  plan.round_finished = print_round;
  // Models come and go by the hundred: what is freed is to be the system's again, not one thread's store.
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  const Stop& stop = stop_on_interrupt();
  plan.drain = &drain_on_terminate();
  FederationServer server(plan, arguments.listen, stop);
  fmt::print("listening on port {}{}{}, {}\n", server.port(),
             server.http_port() > 0 ? fmt::format(", status on {}", server.http_port()) : "",
             server.flower_port() > 0 ? fmt::format(", Flower on {}", server.flower_port()) : "",
             what_comes_next(server.status(), plan.server.min_clients));
  const std::unique_ptr<Dashboard> page = open_dashboard(arguments, server);
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
  command->add_option("--listen", arguments->listen.address, "Address and port")
      ->check(must_be_address)
      ->capture_default_str();
  CLI::Option* certificates =
      command->add_option("--certs", arguments->listen.certificates, "Folder of certificates (feroma cert)");
  command->add_flag("--insecure", arguments->insecure, "No certificates and no encryption: loopback only")
      ->excludes(certificates);
  command
      ->add_option("--http-address", arguments->listen.http_address,
                   "Show /metrics and /healthz here, e.g. 127.0.0.1:7480")
      ->check(must_be_address);
  command
      ->add_option("--flower-address", arguments->flower_address,
                   "Let clients of the Flower framework in here, e.g. 0.0.0.0:8080 (docs/flower.md)")
      ->check(must_be_address);
  const std::string page = DashboardOptions().address;
  CLI::Option* dashboard =
      command
          ->add_option("--dashboard", arguments->dashboard_address,
                       fmt::format("Show the live page, at {} if no address is given (docs/dashboard.md)", page))
          ->expected(0, 1)
          ->default_str(page)
          ->option_text("[HOST:PORT]")
          ->check(must_be_address);  // a config behind it would be taken for one
  command
      ->add_option("--dashboard-token-file", arguments->dashboard_token,
                   "Whoever looks must know its first line; elsewhere than on loopback one is made up otherwise")
      ->needs(dashboard);
  command->add_flag("--stay", arguments->stay, "After the last round go on serving `feroma assign` until stopped");
  command->add_flag(
      "--set-damage-aside", arguments->set_damage_aside,
      "Move a journal's damaged end, and damaged figures, aside: the next start goes on after the last whole round");
  command->add_flag("--check", arguments->check, "Only look whether it could start: config, certificates, disk, port");
  add_format_option(*command, arguments->format);
  command->footer("Example:\n  feroma server configs/federation.toml --state federation --insecure");
  command->callback([arguments] { serve(*arguments); });
}

}  // namespace feroma::cli
