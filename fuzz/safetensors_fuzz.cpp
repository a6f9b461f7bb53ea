#include "feroma/store/safetensors.h"
#include "fuzz/guard.h"
#include "fuzz/tiny_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return feroma::fuzz::guarded([&] {
    (void)feroma::parse_safetensors(feroma::fuzz::bytes_of(data, size), "input",
                                    feroma::fuzz::tiny_model()->shared_layout());
  });
}
