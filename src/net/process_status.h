#pragma once

#include "feroma/net/server_status.h"

namespace feroma::net {

/// Fills in memory, descriptors and threads of this process as Linux counts them; what it does not tell stays.
void measure_process(ServerStatus& status);

}  // namespace feroma::net
