#include "feroma/data/picture.h"
#include "fuzz/guard.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return feroma::fuzz::guarded([&] { (void)feroma::decode_jpeg(feroma::fuzz::bytes_of(data, size), "input"); });
}
