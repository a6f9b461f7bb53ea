#pragma once

#include "feroma/partition/scenario.h"

namespace feroma {

/// Reports every option that the scenario's shift or drift mode would ignore, and pairs of them that do not exist.
void check_option_use(const ScenarioOptions& options, Problems& problems);

}  // namespace feroma
