#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "feroma/data/dataset.h"
#include "feroma/partition/scenario.h"

namespace feroma {

/// Reads the files of a scenario's dataset as its options say, every time anew.
[[nodiscard]] std::shared_ptr<const Dataset> read_scenario_files(const ScenarioOptions& options);

/**
 * Datasets for several runs of one process: what two of them read alike is read once. The last one stays for the run
 * that follows; others live as long as somebody uses them. Safe to call from any thread; one reads at a time.
 */
class SharedDatasets {
 public:
  [[nodiscard]] std::shared_ptr<const Dataset> get(const ScenarioOptions& options);

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const Dataset>> known_;
  std::shared_ptr<const Dataset> last_;
};

}  // namespace feroma
