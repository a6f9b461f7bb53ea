#pragma once

#include <string>
#include <vector>

#include "feroma/partition/bank.h"

namespace feroma::detail {

/// What a distribution does to the stored samples: "90° red", "only classes 3, 7", "labels 2→5 5→2"; "as stored" where
/// it changes nothing.
[[nodiscard]] std::string about_distribution(const Bank::Entry& entry);
/// The classes, those first that the distributions of the bank treat most differently.
[[nodiscard]] std::vector<int> telling_classes(const Bank& bank, int classes);

}  // namespace feroma::detail
