#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "feroma/report/run_data.h"
#include "report/shown_part.h"

namespace feroma::detail {

/// A profile in two dimensions.
struct ProfilePoint {
  double x = 0;
  double y = 0;
  std::uint32_t client = 0;
  int round = 0;
  int distribution = 0;
};
struct ProfileMap {
  std::vector<ProfilePoint> points;
  double explained = 0;     ///< share of the variance that the two dimensions keep
  ShownPart profiles = {};  ///< of those that the run kept; only of profile_map()
};

/// The two directions in which rows vary most (principal components); a value that is not finite counts as the mean of
/// its column. `rows` has `length` values per row. Signs are fixed: the largest part of a direction is positive.
[[nodiscard]] ProfileMap principal_map(const std::vector<double>& rows, std::size_t length);

/// The map of the profiles of an algorithm that the run kept, at most 1 200: those of the last rounds, and of more
/// clients than that some, evenly. Absent where there are not three.
[[nodiscard]] std::optional<ProfileMap> profile_map(const AlgorithmRun& algorithm);
/// Dots in the colour of the true distribution, earlier rounds faint, the last one strong; its number stands beside
/// them.
[[nodiscard]] std::string profile_map_svg(const ProfileMap& map, const std::string& label);

}  // namespace feroma::detail
