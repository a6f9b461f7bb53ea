#pragma once

#include <span>
#include <vector>

#include "algorithms/parents.h"

namespace feroma {

/**
 * The models of `earlier` rounds that stay beside the `present` ones: those that do well enough and whose distribution
 * no present model is near to. The newest come first and stand for everything near them; at most
 * options.retained_models.
 */
[[nodiscard]] std::vector<Parent> retained_parents(const FeromaOptions& options, const ProfileShape& shape,
                                                   const BlockScaler& scaler, std::span<const Parent> earlier,
                                                   std::span<const Parent> present);

}  // namespace feroma
