#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "feroma/bench/requirements.h"

namespace feroma::cli {

/// A target as people write it: ">= 0.98", or "-" without one.
[[nodiscard]] std::string target_text(const std::optional<Target>& target);

/// The output of `feroma bench --requirements`.
void print_requirements(const std::vector<Requirement>& requirements, const BenchOptions& options, Format format);

}  // namespace feroma::cli
