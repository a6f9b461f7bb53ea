#pragma once

#include "tests/algorithms/every_algorithm.h"

namespace feroma::faults {

struct Method {
  std::string name;  ///< with its preset, fit for a folder
  std::string toml;
};

/// Every method that a federation can run, with profiles that samples of nine numbers can fill.
inline std::vector<Method> every_method() {
  std::vector<Method> methods;
  for (const test::AlgorithmCase& one : test::all_algorithms()) {
    if (one.name == "centralised") {
      continue;  // data are handed over in simulations only
    }
    const bool has_profile = one.name == "fedavg-ft" || (one.name == "feroma" && one.preset != "paper");
    methods.push_back({one.preset.empty() ? one.name : one.name + " " + one.preset,
                       test::toml_of(one) + (has_profile ? "profile.dimensions = 6\n" : "")});
  }
  return methods;
}

}  // namespace feroma::faults
