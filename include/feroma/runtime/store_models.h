#pragma once

#include <filesystem>
#include <string>

#include "feroma/algorithms/algorithm.h"
#include "feroma/report/record.h"

namespace feroma {

/// Writes what an algorithm serves after round `finished`, last-round and kept models, as safetensors files and rows of
/// `store.db` in a run's folder. `label` names the algorithm there, `last` is that round's record.
void store_models(const std::filesystem::path& folder, const Algorithm& algorithm, const std::string& label,
                  Round finished, const RoundRecord& last, const ModelSpec& model);

}  // namespace feroma
