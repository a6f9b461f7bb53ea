#pragma once

#include <atomic>
#include <cstddef>
#include <limits>

namespace feroma {

enum class FileOp { open, write, sync, truncate, rename, sync_folder };

/// A call to the operating system that is about to be made, or was made.
struct FileCall {
  FileOp op = FileOp::open;
  int descriptor = -1;    ///< open file; for `open` once it was made
  const char* path = "";  ///< as the call has it; for `rename` the old name
  const char* to = "";    ///< for `rename`, the new name
};

/// What a test makes of a file call.
struct FileFault {
  int error = 0;                                               ///< the call fails with this errno and does nothing
  std::size_t most = std::numeric_limits<std::size_t>::max();  ///< bytes that a write writes, at most
};

/// Watches a program for a test, and lets it fail or die. Calls come from any thread.
class FaultHook {
 public:
  virtual ~FaultHook() = default;
  /// The program passes a place that has a name.
  virtual void passed(const char* point) = 0;
  virtual FileFault before(const FileCall& call) = 0;
  /// The call was made and succeeded.
  virtual void after(const FileCall& call) = 0;
};

namespace detail {
extern std::atomic<FaultHook*> installed_hook;
}  // namespace detail

/// Only test programs install one, before threads start; nothing that a user can set does.
void install_fault_hook(FaultHook* hook);

[[nodiscard]] inline FaultHook* fault_hook() { return detail::installed_hook.load(std::memory_order_relaxed); }

/// A place at which a test may end the program: one load where there is no test.
inline void fault_point(const char* name) {
  if (FaultHook* hook = fault_hook()) {
    hook->passed(name);
  }
}

}  // namespace feroma
