// What a client was given at a visit, as it finds it in its folder: the description is the input.
#include "feroma/core/files.h"
#include "feroma/runtime/assigned.h"
#include "fuzz/guard.h"
#include "fuzz/scratch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path folder = feroma::fuzz::scratch().folder();
  feroma::write_file_atomically(folder / "assigned.json", feroma::fuzz::text_of(data, size));
  // Whatever it says, the models that it names are not there.
  return feroma::fuzz::guarded([&] { (void)feroma::read_assigned(folder); }, {feroma::ErrorCode::io});
}
