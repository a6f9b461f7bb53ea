#include "core/endpoint.h"

#include <arpa/inet.h>

#include <string>

namespace feroma::net {

bool is_loopback(std::string_view address) {
  const std::string host(address.substr(0, address.rfind(':')));
  in_addr parsed{};
  // Names that merely begin like an address are not one.
  const bool is_address = ::inet_pton(AF_INET, host.c_str(), &parsed) == 1;
  return host == "localhost" || host == "[::1]" || (is_address && host.starts_with("127."));
}

}  // namespace feroma::net
