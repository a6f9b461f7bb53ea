#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "feroma/algorithms/algorithm.h"
#include "feroma/data/dataset.h"
#include "feroma/data/scale.h"
#include "feroma/report/record.h"
#include "feroma/runtime/experiment.h"
#include "feroma/store/safetensors.h"

namespace feroma {

/// What a store's models are of.
struct StoreSubject {
  const Experiment& experiment;
  const ModelSpec& model;
  bool multi_label = false;
  InputScales scales = {};
  DataNames names = {};
};

/// Writes the models behind an algorithm's predictions, their index, and what else it needs to serve clients later,
/// into `folder`. `last` is the record of the last finished round.
void store_models(const std::filesystem::path& folder, const Algorithm& algorithm, const std::string& label,
                  Round finished, const RoundRecord& last, const StoreSubject& subject);

/// An algorithm as it was when its models were stored.
struct OpenedStore {
  Experiment experiment;  ///< with this algorithm alone
  std::string label;
  Round round = 0;  ///< the last finished one
  ModelSpec model;
  bool multi_label = false;
  InputScales scales;  ///< of the models' inputs
  DataNames names;     ///< none in stores of earlier versions
  ParametersPtr initial;
  std::unique_ptr<Algorithm> algorithm;
  std::string index_digest;  ///< StoreIndex::digest of this algorithm; empty where an earlier version wrote none
};

/// What a model's file says of it: its name, whose it is, and how its inputs are scaled.
[[nodiscard]] std::map<std::string, std::string> about_model(const std::string& model, const std::string& algorithm,
                                                             const InputScales& scales);

/// Whether it says that its inputs are scaled.
[[nodiscard]] bool is_scaled(const ModelFile& file);

/// Opens a run's folder, or that of a finished server. `label` chooses among a run's algorithms; empty where there is
/// only one.
[[nodiscard]] OpenedStore open_store(const std::filesystem::path& folder, const std::string& label);

}  // namespace feroma
