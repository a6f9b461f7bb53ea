#include "feroma/core/fault_point.h"

namespace feroma {

// Process-wide, because dying is.
std::atomic<FaultHook*> detail::installed_hook{nullptr};

void install_fault_hook(FaultHook* hook) { detail::installed_hook = hook; }

}  // namespace feroma
