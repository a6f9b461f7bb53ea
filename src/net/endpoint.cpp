#include "net/endpoint.h"

namespace feroma::net {

bool is_loopback(std::string_view address) {
  const std::string_view host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

}  // namespace feroma::net
