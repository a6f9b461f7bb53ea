#include "feroma/core/log.h"

#include <mutex>

namespace feroma::log {
namespace {

// Process-wide because a log is; guarded, and empty until an app installs a sink.
std::mutex sink_mutex;
Sink installed_sink;

}  // namespace

void set_sink(Sink sink) {
  const std::lock_guard lock(sink_mutex);
  installed_sink = std::move(sink);
}

void write(Severity severity, std::string_view message) {
  const std::lock_guard lock(sink_mutex);
  if (installed_sink) {
    installed_sink(severity, message);
  }
}

}  // namespace feroma::log
