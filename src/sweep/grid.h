#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "feroma/core/options.h"
#include "feroma/core/problems.h"
#include "feroma/core/setting_lists.h"

namespace feroma::detail {

/// Labels of algorithms and where they are asked for; empty asks for all.
struct Selection {
  std::vector<std::string> labels;
  std::string where = {};
};

/// One key and the values that it takes in turn.
struct Axis {
  std::string key;
  SettingList values;
};

/// Settings that are taken together: a [[variant]], or a [[scenario]] with a base of its own.
struct SettingGroup {
  std::string name;
  std::optional<std::filesystem::path> base;
  Selection algorithms;  ///< narrows down the grid's
  Settings settings;
};

/// A sweep file as it is written.
struct Grid {
  std::string name;
  std::vector<std::filesystem::path> bases;
  std::vector<std::int64_t> seeds;  ///< empty: each base's own
  Selection algorithms;
  std::optional<std::filesystem::path> algorithms_from;
  Settings own_algorithms;  ///< `algorithm.N.*`; empty: those of algorithms_from, or of the base
  std::vector<Axis> axes;
  std::vector<SettingGroup> variants;
  std::vector<SettingGroup> scenarios;
};

/// The one list of what a sweep file may have; tables that may come several times are written with brackets.
[[nodiscard]] const std::vector<OptionInfo>& sweep_file_keys();

/// Reads a sweep file; mistakes become problems, and what is left can still be looked through for others.
[[nodiscard]] Grid read_grid(const std::filesystem::path& file, Problems& problems);

}  // namespace feroma::detail
