#pragma once

#include <span>
#include <string>

#include "feroma/data/dataset.h"

namespace feroma {

/// What is wrong with a table's columns for a model that was trained on `wanted`, in any order; empty where nothing is,
/// and where either has no names.
[[nodiscard]] std::string column_problem(const Samples& samples, std::span<const std::string> wanted);
/// Whether they are in another order than the model has them.
[[nodiscard]] bool needs_arranging(const Samples& samples, std::span<const std::string> wanted);
/// Brings them into that order, by their names. An invalid_data error where there is a problem, which begins with
/// `what` the table is.
void arrange_columns_(Samples& samples, std::span<const std::string> wanted, const std::string& what);

}  // namespace feroma
