#pragma once

#include <cstddef>
#include <span>

namespace feroma::net {

/// What the first bytes of a connection are.
enum class HelloVerdict {
  need_more,  ///< the beginning of a hello
  tls13,      ///< a hello that offers TLS 1.3
  older,      ///< a hello of SSL or of TLS 1.0 to 1.2 alone
  not_tls,
  malformed,  ///< begins like a hello, but is none
};

/// A hello with everything around it is not longer than this.
inline constexpr std::size_t kLargestHello = std::size_t{16} << 10;

/// Looks at what a TLS client says first (RFC 8446, 4.1.2 and 5.1), in one record or several. `bytes` is all that has
/// arrived; what follows the hello is not looked at.
[[nodiscard]] HelloVerdict inspect_client_hello(std::span<const std::byte> bytes);

}  // namespace feroma::net
