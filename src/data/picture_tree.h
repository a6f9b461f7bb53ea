#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace feroma::detail {

/// Pictures of one folder, sorted by name, so that every machine reads them in the same order; hidden ones do not
/// count.
[[nodiscard]] std::vector<std::filesystem::path> pictures_in(const std::filesystem::path& folder);
/// Pictures of a folder and of all folders in it: paths below the folder, sorted.
[[nodiscard]] std::vector<std::filesystem::path> pictures_below(const std::filesystem::path& folder);
/// Refuses a folder that should hold pictures and has not any.
void require_pictures(bool any, const std::filesystem::path& folder);
/// Every domain must have the classes of the first one; a class that only some have would look like a shift.
void require_same_classes(const std::filesystem::path& folder, const std::vector<std::string>& domains,
                          const std::vector<std::string>& classes);

}  // namespace feroma::detail
