#pragma once

#include <string_view>

namespace feroma::net {

/// Whether an address like 127.0.0.1:7443, [::1]:7443 or localhost:7443 is this machine's own.
[[nodiscard]] bool is_loopback(std::string_view address);

}  // namespace feroma::net
