#include "feroma/data/cifar.h"
#include "fuzz/guard.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const feroma::CifarLayout layout : {feroma::kCifar10, feroma::kCifar100}) {
    feroma::fuzz::guarded([&] {
      feroma::Samples samples;
      feroma::append_cifar_(samples, feroma::fuzz::bytes_of(data, size), "input", layout);
    });
  }
  return 0;
}
