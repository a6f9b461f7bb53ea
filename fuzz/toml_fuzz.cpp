#include "fuzz/guard.h"
#include "src/data/own_dataset.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return feroma::fuzz::guarded(
      [&] { (void)feroma::detail::parse_own_options(feroma::fuzz::text_of(data, size), "input"); });
}
