#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "feroma/algorithms/registry.h"

namespace feroma::test {

/// A method of the registry in one of its presets; for tests that every method must pass.
struct AlgorithmCase {
  std::string name;
  std::string preset;  ///< empty for methods without presets
};

inline std::vector<AlgorithmCase> all_algorithms() {
  std::vector<AlgorithmCase> cases;
  for (const AlgorithmEntry& entry : known_algorithms()) {
    if (entry.presets.empty()) {
      cases.push_back({entry.name, ""});
    }
    for (const std::string& preset : entry.presets) {
      cases.push_back({entry.name, preset});
    }
  }
  return cases;
}

/// The method as TOML, with none of its options changed.
inline std::string named(const AlgorithmCase& c) {
  return "name = '" + c.name + "'\n" + (c.preset.empty() ? "" : "preset = '" + c.preset + "'\n");
}

/// The same with a warm-up that is over before a toy run ends, and profiles that toy data can fill.
inline std::string toml_of(const AlgorithmCase& c) {
  const bool warms_up = c.name == "feroma" || c.name == "fedavg-ft";
  return named(c) + (warms_up ? "warmup_rounds = 2\n" : "") + (c.preset == "paper" ? "profile.dimensions = 4\n" : "");
}

inline std::string case_name(const testing::TestParamInfo<AlgorithmCase>& tested) {
  std::string name = tested.param.name + (tested.param.preset.empty() ? "" : "_" + tested.param.preset);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace feroma::test
