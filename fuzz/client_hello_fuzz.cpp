#include "fuzz/guard.h"
#include "net/client_hello.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using feroma::net::HelloVerdict;
  const std::span<const std::byte> bytes = feroma::fuzz::bytes_of(data, size);
  const HelloVerdict whole = feroma::net::inspect_client_hello(bytes);
  const HelloVerdict half = feroma::net::inspect_client_hello(bytes.first(size / 2));
  // A verdict is final: what arrives later does not change it.
  feroma::fuzz::expect(half == HelloVerdict::need_more || half == whole, "a hello is judged once");
  feroma::fuzz::expect(whole != HelloVerdict::need_more || size < feroma::net::kLargestHello, "a hello is bounded");
  return 0;
}
