#include "feroma/net/client_list.h"
#include "fuzz/guard.h"
#include "fuzz/scratch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path path = feroma::fuzz::scratch().file(feroma::fuzz::bytes_of(data, size));
  return feroma::fuzz::guarded([&] {
    const feroma::ClientList list = feroma::read_client_list(path);
    for (const feroma::ClientEntry& entry : list.entries()) {
      const auto found = list.find(entry.fingerprint);
      feroma::fuzz::expect(found && found->id == entry.id && found->revoked == entry.revoked, "an entry is found");
    }
    (void)list.free_id();
  });
}
