#include "feroma/client/context.h"

namespace feroma {

StageSeconds& StageSeconds::operator+=(const StageSeconds& other) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] += other.values[i];
  }
  return *this;
}

}  // namespace feroma
