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

void write(const Entry& entry) {
  const std::lock_guard lock(sink_mutex);
  if (installed_sink) {
    installed_sink(entry);
  }
}

void write(Severity severity, std::string_view message, std::initializer_list<Field> fields) {
  write(Entry{severity, message, std::span(fields.begin(), fields.size())});
}

}  // namespace feroma::log
