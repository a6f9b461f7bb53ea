#pragma once

#include <optional>
#include <vector>

#include "algorithms/equipment.h"
#include "algorithms/parents.h"
#include "feroma/models/archive.h"
#include "feroma/profile/scaler.h"

namespace feroma {

/// Everything Feroma's server remembers from one round to the next.
struct FeromaState {
  ParametersPtr global;         ///< what clients get while no profiles exist
  ParametersPtr global_before;  ///< a round earlier; null: nothing to carry on
  std::optional<Round> warmup_end;
  std::vector<double> warmup_accuracy;
  double latent_max = 0;
  Equipment equipment;
  BlockScaler scaler;
  std::vector<Parent> parents;
  bool budget_spent = false;  ///< a client could not tell of its new data
};

void save(const FeromaState& state, const ProfileShape& shape, ModelWriter& out);
/// `width` is the encoder's output.
[[nodiscard]] FeromaState load_feroma_state(const ProfileShape& shape, int width, ModelReader& in);

}  // namespace feroma
