#pragma once

#include <memory>
#include <string>

#include "feroma/engine/engine.h"

namespace feroma {

/// An engine for a model that is a TorchScript file; it holds its own copy of the module.
[[nodiscard]] std::unique_ptr<Engine> make_script_engine(const ModelSpec& spec);
/// Reads the file and checks that it is a model for these samples and classes.
[[nodiscard]] ModelSpec read_script(const std::string& path, SampleShape input, int classes);

}  // namespace feroma
