#include "feroma/core/build_info.h"

#include <fmt/core.h>

namespace feroma {
namespace {

std::string compiler_name() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace

BuildInfo build_info() {
  return {
      .version = FEROMA_VERSION, .commit = FEROMA_COMMIT, .compiler = compiler_name(), .downloads = FEROMA_DOWNLOADS};
}

}  // namespace feroma
