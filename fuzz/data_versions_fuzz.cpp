// The versions of its data that a client has had, as it finds them in its folder; then its data change.
#include "fuzz/guard.h"
#include "fuzz/scratch.h"
#include "net/data_versions.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path path = feroma::fuzz::scratch().file(feroma::fuzz::bytes_of(data, size));
  return feroma::fuzz::guarded([&] {
    const std::string fingerprint(64, 'f');
    feroma::net::DataVersions versions(path);
    const int number = versions.number_of(fingerprint);
    feroma::fuzz::expect(number >= 0 && versions.number_of(fingerprint) == number, "a version has one number");
    feroma::fuzz::expect(feroma::net::DataVersions(path).number_of(fingerprint) == number,
                         "and the same after a restart");
    feroma::fuzz::expect(versions.number_of(std::string(64, '0')) == number + 1, "the next one has the next");
  });
}
