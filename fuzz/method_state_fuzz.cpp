// The state of a method as a server or a store kept it: the first byte chooses the method, the rest is the state.
#include <map>

#include "feroma/algorithms/registry.h"
#include "fuzz/guard.h"
#include "fuzz/played.h"

namespace {

/// Every method of the registry that a run of images can have, by its place there.
const feroma::fuzz::Played& played(std::size_t number) {
  static std::map<std::size_t, feroma::fuzz::Played> methods;
  const auto found = methods.find(number);
  if (found != methods.end()) {
    return found->second;
  }
  return methods.emplace(number, feroma::fuzz::play(feroma::known_algorithms()[number].name)).first->second;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const feroma::fuzz::Played& method = played(data[0] % feroma::known_algorithms().size());
  return feroma::fuzz::guarded([&] {
    feroma::ArchiveReader archive(feroma::fuzz::bytes_of(data + 1, size - 1), "the state");
    feroma::ModelReader reader(archive, method.initial->shared_layout());
    method.fresh()->load(reader);
    archive.expect_end();
  });
}
