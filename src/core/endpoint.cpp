#include "core/endpoint.h"

#include <arpa/inet.h>

#include <string>

#include "feroma/core/number.h"

namespace feroma::net {

bool is_loopback(std::string_view address) {
  const std::string host(address.substr(0, address.rfind(':')));
  in_addr parsed{};
  // Names that merely begin like an address are not one.
  const bool is_address = ::inet_pton(AF_INET, host.c_str(), &parsed) == 1;
  return host == "localhost" || host == "[::1]" || (is_address && host.starts_with("127."));
}

bool is_host_and_port(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) {
    return false;
  }
  const std::string_view host = address.substr(0, colon);
  const std::string_view digits = address.substr(colon + 1);
  const int port = parse_number<int>(digits).value_or(0);
  const bool in_brackets = host.front() == '[' && host.back() == ']';
  constexpr int kLastPort = 65535;
  return port > 0 && port <= kLastPort && (in_brackets || host.find_first_of(":/[]") == std::string_view::npos);
}

}  // namespace feroma::net
