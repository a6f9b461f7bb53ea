#include "data/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "feroma/core/error.h"

namespace feroma::detail {
namespace {

/// posix_spawn's list of what to do with the child's files.
class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  void open(int descriptor, const char* path, int flags) {
    constexpr mode_t kOwnerOnly = 0600;
    posix_spawn_file_actions_addopen(&actions_, descriptor, path, flags, kOwnerOnly);
  }
  void duplicate(int from, int to) { posix_spawn_file_actions_adddup2(&actions_, from, to); }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    require(errno == EINTR, ErrorCode::internal, "[process] waiting for {} failed: {}", child,
            std::generic_category().message(errno));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::optional<int> run_program(const std::vector<std::string>& arguments, const std::filesystem::path& log) {
  std::vector<std::string> owned = arguments;
  std::vector<char*> argv;
  argv.reserve(owned.size() + 1);
  for (std::string& argument : owned) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  FileActions actions;
  actions.open(STDIN_FILENO, "/dev/null", O_RDONLY);
  actions.open(STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC);
  actions.duplicate(STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], actions.get(), nullptr, argv.data(), environ);
  if (error == ENOENT) {
    return std::nullopt;
  }
  require(error == 0, ErrorCode::io, "[process] {} did not start: {}", arguments[0],
          std::generic_category().message(error));
  return wait_for(child);
}

}  // namespace feroma::detail
