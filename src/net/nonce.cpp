#include "net/nonce.h"

#include <array>
#include <cstddef>
#include <span>

#include "feroma/privacy/entropy_source.h"

namespace feroma::net {

std::string make_nonce() {
  std::array<std::byte, 16> bytes{};
  SystemEntropy entropy;
  entropy.fill(bytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace feroma::net
