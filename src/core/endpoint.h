#pragma once

#include <string_view>

namespace feroma::net {

/// Whether an address like 127.0.0.1:7443, [::1]:7443 or localhost:7443 is this machine's own.
[[nodiscard]] bool is_loopback(std::string_view address);

/// Whether a text is a host and a port: fed.example.org:7443, 10.0.0.1:7443, [fd00::1]:7443.
[[nodiscard]] bool is_host_and_port(std::string_view address);

}  // namespace feroma::net
