#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "feroma/core/log.h"
#include "net/session.h"

namespace feroma::net {

/// A client as the log calls it, by its number and, where it is known, its name: "3", "3 (hospital-a)".
[[nodiscard]] std::string number_and_name(ClientId client, std::string_view name);

/// Writes a line about a peer; its name joins the fields where it is known.
void write_about(const Peer& peer, log::Severity severity, const std::string& message, std::vector<log::Field> fields);

}  // namespace feroma::net
