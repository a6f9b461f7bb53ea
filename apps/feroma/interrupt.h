#pragma once

#include <atomic>

namespace feroma::cli {

/// From now on Ctrl-C and SIGTERM set the returned flag, once; a second one ends the program at once.
[[nodiscard]] const std::atomic<bool>& stop_on_interrupt();

}  // namespace feroma::cli
