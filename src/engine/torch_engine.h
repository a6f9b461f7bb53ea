#pragma once

#include <memory>

#include "engine/torch_module.h"
#include "feroma/engine/engine.h"

namespace feroma {

/// Whether the libtorch module lies where it belongs; loads nothing.
[[nodiscard]] bool torch_available();
/// Loads the libtorch module; an `unsupported` error that says why where it cannot.
void require_torch();
/// The libtorch engine.
[[nodiscard]] std::unique_ptr<Engine> make_torch_engine(const ModelSpec& spec,
                                                        Precision precision = Precision::float32);
/// A TorchScript file as a model.
[[nodiscard]] ModelSpec read_torch_script(const std::string& path, SampleShape input, int classes);
/// Keeps libtorch's operators on the calling thread.
void prepare_torch_thread();

}  // namespace feroma
