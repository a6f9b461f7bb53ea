#include "feroma/core/error.h"

namespace feroma {

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_config: return 2;
    case ErrorCode::interrupted: return 3;
    case ErrorCode::invalid_data:
    case ErrorCode::io:
    case ErrorCode::unsupported:
    case ErrorCode::internal: return 1;
  }
  unreachable();
}

void unreachable() { throw Error(ErrorCode::internal, "[core] reached a branch that cannot be taken"); }

}  // namespace feroma
