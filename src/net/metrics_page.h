#pragma once

#include <string>

#include "feroma/net/server_status.h"

namespace feroma::net {

/// The type under which `metrics_page` is served: Prometheus' text format.
inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

/// A server's numbers, each with what it means. What is not known is left out, not zero.
[[nodiscard]] std::string metrics_page(const ServerStatus& status);

/// Whether clients can be served now; what /healthz answers by its status code.
[[nodiscard]] bool is_serving(const ServerStatus& status);
/// The same for people and scripts: {"status":"ok","round":3,"clients":5}, with a reason where it is not ok.
[[nodiscard]] std::string health_page(const ServerStatus& status);

}  // namespace feroma::net
