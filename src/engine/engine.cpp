#include "feroma/engine/engine.h"

#include "engine/native/native_engine.h"
#include "engine/torch_engine.h"
#include "feroma/core/error.h"

namespace feroma {

std::unique_ptr<Engine> make_engine(EngineKind kind, const ModelSpec& spec) {
  switch (kind) {
    case EngineKind::native:
      require(!spec.script, ErrorCode::unsupported,
              "[engine] {} is a TorchScript file, which needs the engine \"torch\"", spec.name);
      return make_native_engine(spec);
    case EngineKind::torch: return make_torch_engine(spec);
  }
  unreachable();
}

bool engine_available(EngineKind kind) {
  switch (kind) {
    case EngineKind::native: return true;
    case EngineKind::torch: return torch_available();
  }
  unreachable();
}

void require_engine(EngineKind kind) {
  switch (kind) {
    case EngineKind::native: return;
    case EngineKind::torch: require_torch(); return;
  }
  unreachable();
}

ModelSpec read_script_model(const std::string& path, SampleShape input, int classes) {
  return read_torch_script(path, input, classes);
}

void prepare_worker_thread(EngineKind kind) {
  switch (kind) {
    case EngineKind::native: return;
    case EngineKind::torch: prepare_torch_thread(); return;
  }
  unreachable();
}

}  // namespace feroma
