// What a libtorch module of another version looks like to the loader.
#include "engine/torch_module.h"

extern "C" [[gnu::visibility("default")]] const feroma::TorchModule* feroma_torch_module() {
  static constexpr feroma::TorchModule kModule{"0.0.0-other", nullptr, nullptr};
  return &kModule;
}
