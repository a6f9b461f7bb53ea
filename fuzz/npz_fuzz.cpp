#include "feroma/data/npz.h"
#include "fuzz/guard.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return feroma::fuzz::guarded([&] { (void)feroma::parse_npz(feroma::fuzz::bytes_of(data, size), "input"); });
}
