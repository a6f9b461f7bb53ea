#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace feroma {

/// What went wrong, coarse enough to choose an exit code and a wire status.
enum class ErrorCode {
  invalid_config,  ///< a config value or command line breaks a rule
  invalid_data,    ///< a file or message is malformed
  io,              ///< the operating system said no
  unsupported,     ///< this build or this algorithm cannot do it
  interrupted,     ///< the user asked to stop; state is saved
  internal,        ///< our own bug
};

/// The one exception type: thrown when the caller cannot go on.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

/// Process exit code for an error: 1 failed, 2 bad usage or config, 3 interrupted.
[[nodiscard]] int exit_code(ErrorCode code);

template <class... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws unless `condition`; the message names the thing, the rule and the value.
template <class... Args>
void require(bool condition, ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) {
    fail(code, format, std::forward<Args>(args)...);
  }
}

/// Marks the end of an exhaustive switch.
[[noreturn]] void unreachable();

}  // namespace feroma
