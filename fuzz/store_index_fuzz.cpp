#include "feroma/store/index.h"
#include "fuzz/guard.h"
#include "fuzz/scratch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path path = feroma::fuzz::scratch().file(feroma::fuzz::bytes_of(data, size));
  // A file that asks SQLite for a log beside it, which is not there, is one that cannot be opened.
  return feroma::fuzz::guarded(
      [&] {
        const feroma::StoreIndex index(path, feroma::StoreIndex::Mode::read_only);
        (void)index.list({});
      },
      {feroma::ErrorCode::io});
}
