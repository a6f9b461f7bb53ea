#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "feroma/algorithms/algorithm.h"
#include "feroma/core/options.h"

namespace feroma {

/// An algorithm with its options, ready to be built as often as needed.
struct AlgorithmPlan {
  std::string name;
  std::string preset;  ///< empty for methods without presets
  std::string label;   ///< unique within a run; names files and rows
  Settings settings;   ///< every option as resolved, keys relative to the algorithm's table
  std::function<std::unique_ptr<Algorithm>()> make;
};

/// One row of the registry.
struct AlgorithmEntry {
  std::string_view name;
  std::string_view category;
  std::string_view source;
  std::vector<std::string_view> presets;  ///< the first one is the default
  /// Reads the options of a preset and the user's changes to it.
  AlgorithmPlan (*plan)(const std::string& preset, SettingsReader& reader, const std::string& prefix,
                        Problems& problems);
};

[[nodiscard]] const std::vector<AlgorithmEntry>& known_algorithms();

/// Reads `prefix.name`, `prefix.preset`, `prefix.label` and the method's own options; mistakes become problems.
[[nodiscard]] AlgorithmPlan plan_algorithm(SettingsReader& reader, const std::string& prefix, Problems& problems);

}  // namespace feroma
