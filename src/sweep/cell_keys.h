#pragma once

#include <map>
#include <string>

#include "feroma/core/error.h"
#include "feroma/sweep/cells.h"

namespace feroma::detail {

/// The cells that a sweep has already.
class CellKeys {
 public:
  /// False where the cell is there. Two that differ and have one key are an invalid_config error: a key is a part of a
  /// hash, and names the cell's folder.
  [[nodiscard]] bool insert(const SweepCell& cell) {
    const auto [found, is_new] = hashes_.try_emplace(cell.key, cell.hash);
    require(found->second == cell.hash, ErrorCode::invalid_config,
            "cells {} and {} differ and have one key, {}; change any setting of one of them", found->second, cell.hash,
            cell.key);
    return is_new;
  }

 private:
  std::map<std::string, std::string> hashes_;  ///< by key
};

}  // namespace feroma::detail
