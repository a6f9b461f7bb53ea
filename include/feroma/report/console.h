#pragma once

#include <span>
#include <string>

#include "feroma/report/record.h"

namespace feroma {

/// The results as an aligned text table for a terminal; a value that does not apply is "-".
[[nodiscard]] std::string results_table(std::span<const ResultRecord> results);
/// What stands below it: a line for each column that its title does not explain.
[[nodiscard]] std::string results_notes(std::span<const ResultRecord> results);

}  // namespace feroma
