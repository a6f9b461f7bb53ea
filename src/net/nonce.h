#pragma once

#include <string>

namespace feroma::net {

/// Sixteen bytes from the operating system's generator: the name of a session that nobody can guess or has seen.
[[nodiscard]] std::string make_nonce();

}  // namespace feroma::net
