#include "net/grpc_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <atomic>
#include <mutex>

#include "feroma/core/log.h"
#include "net/session.h"

namespace feroma::net {
namespace {

// Process-wide, as gRPC's own log is.
std::atomic<bool> door_tells = false;

void write_line(gpr_log_func_args* entry) {
  const bool handshake = std::string_view(entry->file).find("ssl_transport_security") != std::string_view::npos;
  const bool matters = entry->severity == GPR_LOG_SEVERITY_ERROR && !(handshake && door_tells);
  log::write(matters ? log::Severity::warning : log::Severity::debug,
             fmt::format("gRPC: {}", printable(entry->message)));
}

}  // namespace

void write_into_our_log(Handshakes handshakes) {
  if (handshakes == Handshakes::door_tells) {
    door_tells = true;
  }
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_function(write_line);
    // Whoever sends text that is none must not fill the log with it.
    google::protobuf::SetLogHandler([](google::protobuf::LogLevel, const char*, int, const std::string& message) {
      log::debug("protobuf: {}", printable(message));
    });
  });
}

}  // namespace feroma::net
