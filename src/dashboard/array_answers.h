#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "dashboard/answers.h"
#include "dashboard/plane.h"

namespace feroma::dashboard {

/// `algorithm`, `round`, `cells`: who took how much from whom, at most so many cells a side.
[[nodiscard]] std::string mixing_answer(const RunWatch& watch, const Query& query);

/// Draws profiles on a plane that is fitted once for all rounds that there are. From any thread.
class ProfileMap {
 public:
  /// `algorithm`, `round`, `trail`, `points`: where clients' profiles are, and where they were in the rounds before.
  [[nodiscard]] std::string answer(const RunWatch& watch, const Query& query);

 private:
  struct Fitted {
    std::string key;  ///< of which algorithm and rounds
    Plane plane;
  };
  [[nodiscard]] Plane plane_of(const std::string& key, const std::filesystem::path& folder, const std::string& label,
                               const std::vector<Place>& places, std::size_t cols);

  std::mutex mutex_;
  std::optional<Fitted> fitted_;
};

}  // namespace feroma::dashboard
