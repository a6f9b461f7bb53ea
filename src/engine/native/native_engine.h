#pragma once

#include <memory>

#include "feroma/engine/engine.h"

namespace feroma {

/// The engine of this library's own CPU kernels.
[[nodiscard]] std::unique_ptr<Engine> make_native_engine(const ModelSpec& spec);

}  // namespace feroma
