#include "engine/torch_engine.h"
#include "feroma/core/error.h"

namespace feroma {

bool torch_available() { return false; }

std::unique_ptr<Engine> make_torch_engine(const ModelSpec&, Precision) {
  fail(ErrorCode::unsupported,
       "[engine] this build has no torch engine; install libtorch (Debian: libtorch-dev) and configure again");
}

void prepare_torch_thread() {}

}  // namespace feroma
