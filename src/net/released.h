#pragma once

#include <string>

#include "feroma/privacy/ledger.h"
#include "net/session.h"

namespace feroma::net {

// What clients have released, as it travels and as a server counts it.

[[nodiscard]] v1::Released to_wire(const ReleaseCount& count, const std::string& data = {});
[[nodiscard]] ReleaseCount from_wire(const v1::Released& released);
/// Refuses costs that are none.
void check_released(const ReleaseCount& count);

/// How a server calls whoever released something: a client by its number, whatever certificate it has; a visitor by its
/// number and its name for the data. A name that is none is a refusal.
[[nodiscard]] std::string releaser(std::optional<ClientId> number, bool is_visitor, const std::string& data);
/// The name of the data in it; nothing where it is not this visitor's.
[[nodiscard]] std::optional<std::string> data_of(const std::string& releaser, std::optional<ClientId> visitor);

}  // namespace feroma::net
