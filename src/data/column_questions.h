#pragma once

#include <span>
#include <string>

#include "feroma/data/csv.h"
#include "feroma/data/dataset.h"

namespace feroma::detail {

/// Columns that nothing claims are inputs unless they look as if nobody meant that: a time stamp, or a word. That is a
/// question to the user, and an invalid_config error that names the key which answers it and the file for it, the
/// `description`.
void ask_about_inputs(const CsvTable& table, std::span<const std::size_t> unclaimed, const std::string& description);

/// Labels of hundreds of values, most of them rare, are a quantity rather than classes. `key` is where they come from.
void ask_about_target(const Dataset& dataset, std::string_view key, std::string_view folder);

}  // namespace feroma::detail
