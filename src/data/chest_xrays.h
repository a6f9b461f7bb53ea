#pragma once

#include <cstddef>
#include <filesystem>

#include "feroma/data/catalog.h"

namespace feroma::detail {

/// CheXpert with the first rows of train.csv as training data and those after them as test data.
[[nodiscard]] Dataset read_chexpert_rows(const std::filesystem::path& folder, std::size_t train_rows,
                                         std::size_t test_rows, const LoadOptions& options);

}  // namespace feroma::detail
