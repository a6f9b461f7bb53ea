#pragma once

#include "feroma/client/context.h"
#include "feroma/v1/federation.pb.h"

namespace feroma::net {

/// What a client tells of a step besides its answer.
[[nodiscard]] v1::Telemetry telemetry_of(const ClientReport& report);
/// Whether all of it can be: numbers, and none out of range.
[[nodiscard]] bool is_believable(const v1::Telemetry& telemetry);
[[nodiscard]] ClientReport report_of(const v1::Telemetry& telemetry);

}  // namespace feroma::net
