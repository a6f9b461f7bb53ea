#include "feroma/dashboard/dashboard.h"

#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "commands.h"
#include "feroma/core/error.h"
#include "feroma/core/log.h"
#include "interrupt.h"

extern char** environ;

namespace feroma::cli {
namespace {

struct DashboardArguments {
  DashboardOptions page;
  bool open = false;
};

/// Asks the desktop for a browser. Where there is none the address that was printed has to do.
void open_browser(std::string url) {
  std::string program = "xdg-open";
  char* const arguments[] = {program.data(), url.data(), nullptr};
  pid_t child = 0;
  if (::posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments, environ) != 0) {
    log::warning("--open: xdg-open was not found; open the address yourself");
    return;
  }
  int status = 0;
  static_cast<void>(::waitpid(child, &status, 0));
}

void show(const DashboardArguments& arguments) {
  require(has_dashboard(), ErrorCode::unsupported, "this build has no dashboard: {}", why_no_dashboard());
  require(std::filesystem::is_directory(arguments.page.folder), ErrorCode::invalid_config,
          "DIR must be the folder of a run or the state of a server, got \"{}\"", arguments.page.folder.string());
  const std::atomic<bool>& stop = stop_on_interrupt();
  const Dashboard page(arguments.page);
  fmt::print("{}\n", page.url());
  std::fflush(stdout);
  if (arguments.open && !page.token().empty()) {
    log::warning("--open: opens nothing that needs a token, which others could read on the browser's command line");
  } else if (arguments.open) {
    open_browser(page.url());
  }
  while (!stop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace

void add_dashboard_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("dashboard", "Show a run or a server's state as a live page");
  auto arguments = std::make_shared<DashboardArguments>();
  command->add_option("DIR", arguments->page.folder, "Folder of a run, finished or not, or the state of a server")
      ->required();
  command
      ->add_option("--listen", arguments->page.address,
                   "Address and port; 0 takes a free one. Elsewhere than on loopback a token is needed, and printed")
      ->capture_default_str();
  command->add_option("--token-file", arguments->page.token_file,
                      "Whoever looks must know its first line, on loopback too");
  command->add_flag("--open", arguments->open, "Open it in the desktop's browser");
  command->footer("Example:\n  feroma dashboard runs/demo");
  command->callback([arguments] { show(*arguments); });
}

}  // namespace feroma::cli
