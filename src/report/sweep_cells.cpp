#include "report/sweep_cells.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <vector>

#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/core/options.h"
#include "feroma/core/settings.h"

namespace feroma::detail {

namespace fs = std::filesystem;

bool SweepCells::take(const fs::path& run) {
  const fs::path cell = fs::canonical(run);
  if (cell.parent_path().filename() != "cells") {
    return false;
  }
  const fs::path folder = cell.parent_path().parent_path();
  const auto [list, is_new] = lists_.try_emplace(folder);
  if (is_new) {
    list->second = read_list(folder);
  }
  const auto found = list->second.find(cell.filename().string());
  if (found == list->second.end()) {
    return false;
  }
  found->second = true;
  return true;
}

SweepCells::List SweepCells::read_list(const fs::path& folder) {
  constexpr std::string_view kPrefix = "cell.";
  List list;
  std::error_code none;  // a folder with cells and no sweeps knows no names
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / "sweeps", none)) {
    const fs::path& file = entry.path();
    if (file.extension() != ".toml" || is_unfinished_write(file.filename().string())) {
      continue;
    }
    names_.insert(file.stem().string());
    if (file.stem().string() == name_) {
      for (const auto& [key, setting] : load_settings(file)) {
        if (key.starts_with(kPrefix)) {
          list.emplace(key.substr(kPrefix.size()), false);
        }
      }
    }
  }
  return list;
}

void SweepCells::require_known() const {
  require(!names_.empty(), ErrorCode::invalid_config, "--sweep {}: no sweep ran in these folders", name_);
  const std::string near = nearest_name(name_, std::vector<std::string>(names_.begin(), names_.end()));
  const std::string all = fmt::format("{}", fmt::join(names_, ", "));
  require(names_.contains(name_), ErrorCode::invalid_config,
          "--sweep {}: no sweep of this name ran in these folders, there {}: {}{}", name_,
          names_.size() == 1 ? "is" : "are", all, near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

std::pair<std::size_t, std::size_t> SweepCells::counts() const {
  std::pair<std::size_t, std::size_t> sums{0, 0};
  for (const auto& [folder, list] : lists_) {
    sums.first +=
        static_cast<std::size_t>(std::count_if(list.begin(), list.end(), [](const auto& cell) { return cell.second; }));
    sums.second += list.size();
  }
  return sums;
}

}  // namespace feroma::detail
