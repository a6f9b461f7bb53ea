#pragma once

#include "feroma/core/stop.h"

namespace feroma::cli {

/// From now on Ctrl-C and SIGTERM set the returned flag, once; a second one ends the program at once.
[[nodiscard]] const Stop& stop_on_interrupt();

/// From now on SIGTERM sets the returned flag instead: finish what is under way, then stop. A second one is as Ctrl-C.
[[nodiscard]] const Stop& drain_on_terminate();

}  // namespace feroma::cli
