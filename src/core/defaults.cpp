#include "feroma/core/defaults.h"

namespace feroma {

std::string AdaptedDefault::text() const {
  return fmt::format("{} = {} instead of {}: {}", key, to_string(is), to_string(was), reason);
}

}  // namespace feroma
