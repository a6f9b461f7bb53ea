#include "engine/torch_module.h"

#include <dlfcn.h>

#include <string>
#include <system_error>

#include "engine/torch_engine.h"
#include "feroma/core/build_info.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

/// libtorch takes a second and 160 MB to load, so nothing but a use of its engine may do it.
const TorchModule& torch_module() {
  static const TorchModule& module = load_torch_module(torch_module_path());
  return module;
}

}  // namespace

fs::path torch_module_path() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  // Without /proc there is no module: a path relative to the current folder could load anybody's.
  return failed ? fs::path() : program.parent_path().parent_path() / "lib" / "libferoma_torch.so";
}

const TorchModule& load_torch_module(const fs::path& path) {
  require(fs::exists(path), ErrorCode::unsupported,
          "[engine] there is no torch engine: {} is missing; install libtorch (Debian: libtorch-dev) and build again, "
          "or use the engine \"native\"",
          path.string());
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    fail(ErrorCode::unsupported, "[engine] the torch engine cannot be loaded: {}", ::dlerror());
  }
  void* const entry = ::dlsym(library, kTorchModuleEntry);
  require(entry != nullptr, ErrorCode::unsupported, "[engine] the torch engine cannot be loaded: {} has no {}",
          path.string(), kTorchModuleEntry);
  const TorchModule& module = *reinterpret_cast<const TorchModule* (*)()>(entry)();
  const std::string version = build_info().version;
  require(module.version == version, ErrorCode::unsupported,
          "[engine] the torch engine cannot be loaded: {} is of version {}, this program of {}", path.string(),
          module.version, version);
  return module;
}

bool torch_available() {
  std::error_code ignored;
  return fs::exists(torch_module_path(), ignored);
}

void require_torch() { static_cast<void>(torch_module()); }

std::unique_ptr<Engine> make_torch_engine(const ModelSpec& spec, Precision precision) {
  return torch_module().make_engine(spec, precision);
}

ModelSpec read_torch_script(const std::string& path, SampleShape input, int classes) {
  return torch_module().read_script(path, input, classes);
}

void prepare_torch_thread() { torch_module().prepare_thread(); }

}  // namespace feroma
