#pragma once

#include <memory>

#include "feroma/engine/engine.h"

namespace feroma {

/// Whether libtorch is built in.
[[nodiscard]] bool torch_available();
/// The libtorch engine; an `unsupported` error where it is not built in.
[[nodiscard]] std::unique_ptr<Engine> make_torch_engine(const ModelSpec& spec);
/// Keeps libtorch's operators on the calling thread.
void prepare_torch_thread();

}  // namespace feroma
