#pragma once

#include <string>

namespace feroma {

/// What this binary is: for `feroma --version` and a run's manifest.
struct BuildInfo {
  std::string version;
  std::string commit;      ///< short hash at configure time; empty where it was not known
  std::string compiler;    ///< "g++ 12.2.0"
  bool downloads = false;  ///< libcurl is built in
};

[[nodiscard]] BuildInfo build_info();

}  // namespace feroma
