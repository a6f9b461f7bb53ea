#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace feroma::detail {

/// The cells of one sweep, as `sweeps/<name>.toml` lists them in the folders that it ran in.
class SweepCells {
 public:
  explicit SweepCells(std::string name) : name_(std::move(name)) {}

  /// Whether a run directory is one of them, which is remembered.
  [[nodiscard]] bool take(const std::filesystem::path& run);
  /// An invalid_config error that names the sweeps there are, where none of the folders met knows this one.
  void require_known() const;
  /// How many cells were taken, and how many the lists have.
  [[nodiscard]] std::pair<std::size_t, std::size_t> counts() const;

 private:
  /// What a sweep's folder has of it: cells by key, and whether each was taken.
  using List = std::map<std::string, bool>;

  [[nodiscard]] List read_list(const std::filesystem::path& folder);

  std::string name_;
  std::map<std::filesystem::path, List> lists_;
  std::set<std::string> names_;  ///< of all sweeps met
};

}  // namespace feroma::detail
