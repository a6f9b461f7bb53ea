#include "screenshot.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <span>
#include <sstream>
#include <thread>
#include <vector>

#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "interrupt.h"

extern char** environ;

namespace feroma::cli {
namespace {

namespace fs = std::filesystem;

/// A figure takes a second or two; a browser that hangs would keep the report for ever.
constexpr std::chrono::seconds kDrawingLimit{60};

/// The first of the names under which Chromium is installed, or "".
std::string browser() {
  const char* path = std::getenv("PATH");
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      const std::string file = folder + "/" + name;
      if (!folder.empty() && ::access(file.c_str(), X_OK) == 0) {
        return file;
      }
    }
  }
  return "";
}

/// A folder of its own for the picture and the browser's profile.
class Workplace {
 public:
  Workplace() {
    std::string name = (fs::temp_directory_path() / "feroma-figure-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr, ErrorCode::io, "{}: cannot make a folder", name);
    path_ = name;
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

/// Starts a program without input and output, as the head of a process group of its own; absent where it cannot be.
std::optional<pid_t> start_quietly(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));  // posix_spawn does not write to them
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = 0;
  const int failed = posix_spawn(&child, words[0].c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? std::optional(child) : std::nullopt;
}

/// Runs a program and waits for it; returns its exit status, -1 where it has none, or nothing where it took too long.
/// It is killed then, or when the user asks to stop, with everything that it started.
std::optional<int> run_quietly(const std::vector<std::string>& words) {
  // What is typed at the terminal does not reach another process group.
  const std::atomic<bool>& stop = stop_on_interrupt();
  const std::optional<pid_t> child = start_quietly(words);
  if (!child) {
    return -1;
  }
  const auto latest = std::chrono::steady_clock::now() + kDrawingLimit;
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(*child, &status, WNOHANG)) == 0 && !stop.load() &&
         std::chrono::steady_clock::now() < latest) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (ended != 0) {
    return ended == *child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  ::kill(-*child, SIGKILL);
  ::waitpid(*child, &status, 0);
  require(!stop.load(), ErrorCode::interrupted, "interrupted");
  return std::nullopt;
}

}  // namespace

void require_browser() {
  require(!browser().empty(), ErrorCode::unsupported,
          "--png draws with Chromium, and there is none in the PATH; install it (Debian: apt install chromium), or use "
          "--svg");
}

void screenshot(const std::string& svg, int width, int height, const fs::path& png) {
  const Workplace folder;
  write_file_unsynced(folder / "figure.svg", std::as_bytes(std::span(svg)));
  std::vector<std::string> words{browser(),
                                 "--headless",
                                 "--disable-gpu",
                                 "--hide-scrollbars",
                                 "--no-first-run",
                                 "--disable-background-networking",
                                 "--force-device-scale-factor=2",
                                 fmt::format("--user-data-dir={}", (folder / "profile").string()),
                                 fmt::format("--window-size={},{}", width, height),
                                 fmt::format("--screenshot={}", (folder / "figure.png").string())};
  if (::geteuid() == 0) {
    words.emplace_back("--no-sandbox");  // it refuses to run as root with one; the file is our own
  }
  words.push_back("file://" + (folder / "figure.svg").string());
  const std::optional<int> status = run_quietly(words);
  require(status.has_value(), ErrorCode::io, "{}: {} did not draw it within {} s, and was killed", png.string(),
          words[0], kDrawingLimit.count());
  require(*status == 0 && fs::exists(folder / "figure.png"), ErrorCode::io, "{}: {} could not draw it (status {})",
          png.string(), words[0], *status);
  write_file_atomically(png, read_file(folder / "figure.png"));
}

}  // namespace feroma::cli
