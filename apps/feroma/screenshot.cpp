#include "screenshot.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <span>
#include <sstream>
#include <vector>

#include "feroma/core/error.h"
#include "feroma/core/files.h"

extern char** environ;

namespace feroma::cli {
namespace {

namespace fs = std::filesystem;

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

/// Runs a program without output and waits for it; returns its exit status.
int run_quietly(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));  // posix_spawn does not write to them
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
  }
  pid_t child = 0;
  const int failed = posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  return failed == 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
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
  const int status = run_quietly(words);
  require(status == 0 && fs::exists(folder / "figure.png"), ErrorCode::io, "{}: {} could not draw it (status {})",
          png.string(), words[0], status);
  write_file_atomically(png, read_file(folder / "figure.png"));
}

}  // namespace feroma::cli
