#pragma once

#include <filesystem>
#include <memory>

#include "feroma/engine/engine.h"

namespace feroma {

/// float64 computes on the same float32 parameters and gives a float32 gradient; it is an oracle for tests.
enum class Precision { float32, float64 };

/// What the libtorch module offers the program that loads it.
struct TorchModule {
  const char* version = nullptr;  ///< of the sources it was built from; types of another version may differ
  std::unique_ptr<Engine> (*make_engine)(const ModelSpec& spec, Precision precision) = nullptr;
  ModelSpec (*read_script)(const std::string& path, SampleShape input, int classes) = nullptr;
  void (*prepare_thread)() = nullptr;
};

/// Name of the module's one function, which returns a `const TorchModule*`.
constexpr const char* kTorchModuleEntry = "feroma_torch_module";

/// Where the module belongs: ../lib beside the running program's folder, in a build tree and after installation.
[[nodiscard]] std::filesystem::path torch_module_path();
/// Loads a module; an `unsupported` error that names the file and the reason where it cannot. It stays loaded for good.
[[nodiscard]] const TorchModule& load_torch_module(const std::filesystem::path& path);

}  // namespace feroma
