#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "feroma/core/build_info.h"
#include "feroma/core/error.h"
#include "feroma/core/options.h"
#include "feroma/core/simd.h"
#include "feroma/dashboard/dashboard.h"
#include "feroma/engine/engine.h"
#include "log_output.h"
#include "usage.h"

namespace feroma::cli {
namespace {

#ifdef FEROMA_NET
constexpr bool kHasNetwork = true;
#else
constexpr bool kHasNetwork = false;
#endif

/// Reads the rest of the command line and does nothing.
constexpr std::string_view kParseOnly = "--parse-only";

std::string version_text() {
  const BuildInfo info = build_info();
  const auto yes_no = [](bool value) { return value ? "yes" : "no"; };
  std::string text = fmt::format("feroma {}", info.version);
  text += info.commit.empty() ? "" : fmt::format(" (commit {})", info.commit);
  text += fmt::format("\nengines: native{}", engine_available(EngineKind::torch) ? ", torch" : "");
  text += fmt::format("\ndownloads (libcurl): {}", yes_no(info.downloads));
  text += fmt::format("\nnetwork (gRPC): {}", yes_no(kHasNetwork));
  text += fmt::format("\ndashboard: {}", has_dashboard() ? "yes" : fmt::format("no, {}", why_no_dashboard()));
  text += fmt::format("\ncompiler: {}", info.compiler);
  text += fmt::format("\nSIMD target: {} (of {})", name_of(simd_target()), simd_target_names());
  return text;
}

/// `feroma help data get` is `feroma data get --help`.
std::vector<const char*> words_of(int argc, char** argv) {
  std::vector<const char*> words(argv, argv + argc);
  if (words.size() > 1 && std::string_view(words[1]) == "help") {
    words.erase(words.begin() + 1);
    words.push_back("--help");
  }
  return words;
}

int run_app(int argc, char** argv) {
  CLI::App app("Federated learning for data that differ between clients and drift over time.", "feroma");
  app.set_version_flag("--version", version_text, "Print the version, the features built in and the SIMD target");
  app.add_flag_callback(
      "-v,--verbose", [] { log_to_stderr(/*verbose=*/true); }, "Print debug messages too");
  app.add_flag(std::string(kParseOnly))->group("");  // hidden: the first word, for tests of what docs say
  app.footer("Example:\n  feroma init study && feroma run study.toml");
  app.require_subcommand(1);
  app.get_formatter()->column_width(32);
  add_init_command(app);
  add_run_command(app);
  add_sweep_command(app);
  add_report_command(app);
  add_data_command(app);
  add_list_command(app);
  add_bench_command(app);
  add_privacy_command(app);
  add_assign_command(app);
  add_predict_command(app);
  add_dashboard_command(app);
#ifdef FEROMA_NET
  add_cert_command(app);
  add_server_command(app);
  add_client_command(app);
  add_log_format_option(*app.get_subcommand("server"));
  add_log_format_option(*app.get_subcommand("client"));
#else
  add_missing_network_commands(app);
#endif

  log_to_stderr(/*verbose=*/false);
  try {
    const std::vector<const char*> words = words_of(argc, argv);
    if (words.size() > 1 && words[1] == kParseOnly) {
      app.parse_complete_callback([] { throw CLI::Success(); });  // runs before what the command would do
    }
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::Success& success) {
    return app.exit(success);  // --help and --version
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorCode::invalid_config, explain(app, error));
  }
  return 0;
}

}  // namespace
}  // namespace feroma::cli

int main(int argc, char** argv) {
  try {
    return feroma::cli::run_app(argc, argv);
  } catch (const feroma::Error& error) {
    const bool stopped = error.code() == feroma::ErrorCode::interrupted;
    (stopped ? feroma::cli::print_stopped : feroma::cli::print_error)(error.what());
    return feroma::exit_code(error.code());
  } catch (const std::exception& error) {
    feroma::cli::print_error(error.what());
    return 1;
  }
}
