#include "feroma/dashboard/dashboard.h"

#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "checks.h"
#include "commands.h"
#include "feroma/core/clock.h"
#include "feroma/core/error.h"
#include "feroma/core/log.h"
#include "interrupt.h"

extern char** environ;

namespace feroma::cli {
namespace {

namespace fs = std::filesystem;

/// Runs that are named to somebody who has to choose.
constexpr std::size_t kNamedRuns = 3;

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

/// The folders in `folder` that hold a file, in order of their names.
std::vector<fs::path> folders_with(const char* file, const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (fs::exists(entry.path() / file, error)) {
      found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Whether there is a run. It may begin later, but not in a folder that holds other runs: whoever names one wants to
/// see one of these.
bool has_run(const fs::path& folder) {
  require(fs::is_directory(folder), ErrorCode::invalid_config,
          "DIR must be the folder of a run or the state of a server, got \"{}\"", folder.string());
  if (fs::exists(folder / "events.jsonl")) {
    return true;
  }
  const bool is_sweep = fs::is_directory(folder / "cells");
  const fs::path within = is_sweep ? folder / "cells" : folder;
  const std::vector<fs::path> runs = folders_with("events.jsonl", within);
  require(!runs.empty() || (folders_with("summary.json", within).empty() && !fs::exists(folder / "summary.json")),
          ErrorCode::invalid_config,
          "{}: there is no events.jsonl to show; of packed cells there are figures alone, see `feroma report`",
          folder.string());
  if (!is_sweep && runs.empty()) {
    return false;
  }
  std::string names;
  for (std::size_t i = 0; i < std::min(runs.size(), kNamedRuns); ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : ", ", runs[i].string());
  }
  fail(ErrorCode::invalid_config, "DIR must be the folder of one run, and {} {}: {}{}", folder.string(),
       is_sweep ? "is that of a sweep" : "holds others",
       runs.empty() ? "none of its cells has begun" : "name one of them, " + names,
       runs.size() > kNamedRuns ? fmt::format(" or {} more", runs.size() - kNamedRuns) : "");
}

void show(const DashboardArguments& arguments) {
  require(has_dashboard(), ErrorCode::unsupported, "this build has no dashboard: {}", why_no_dashboard());
  const bool begun = has_run(arguments.page.folder);
  const Stop& stop = stop_on_interrupt();
  const Dashboard page(arguments.page);
  if (!begun) {
    log::warning("{} holds no run yet: the page waits until one begins there", arguments.page.folder.string());
  }
  fmt::print("{}\n", page.url());
  std::fflush(stdout);
  if (arguments.open && !page.token().empty()) {
    log::warning("--open: opens nothing that needs a token, which others could read on the browser's command line");
  } else if (arguments.open) {
    open_browser(page.url());
  }
  Clock::machine().rest_until(Clock::time_point::max(), stop.token());
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
      ->check(must_be_address)
      ->capture_default_str();
  command->add_option("--token-file", arguments->page.token_file,
                      "Whoever looks must know its first line, on loopback too");
  command->add_flag("--open", arguments->open, "Open it in the desktop's browser");
  command->footer("Example:\n  feroma dashboard runs/demo");
  command->callback([arguments] { show(*arguments); });
}

}  // namespace feroma::cli
