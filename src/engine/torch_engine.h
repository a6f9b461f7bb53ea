#pragma once

#include <memory>

#include "feroma/engine/engine.h"

namespace feroma {

/// Whether libtorch is built in.
[[nodiscard]] bool torch_available();
/// float64 computes on the same float32 parameters and gives a float32 gradient; it is an oracle for tests.
enum class Precision { float32, float64 };

/// The libtorch engine; an `unsupported` error where it is not built in.
[[nodiscard]] std::unique_ptr<Engine> make_torch_engine(const ModelSpec& spec,
                                                        Precision precision = Precision::float32);
/// Keeps libtorch's operators on the calling thread.
void prepare_torch_thread();

}  // namespace feroma
