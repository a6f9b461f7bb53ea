#include "feroma/mapping/linkage.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "feroma/core/error.h"

namespace feroma {
namespace {

/// Groups are known by their lowest item. Each remembers its nearest group of higher number, so that a step costs one
/// pass over the groups and not over all pairs.
class Groups {
 public:
  Groups(const Matrix& distances, Linkage linkage)
      : distances_(distances), linkage_(linkage), group_of_(distances.rows), nearest_(distances.rows) {
    require(distances.rows == distances.cols, ErrorCode::internal, "[linkage] distances must be square, got {} x {}",
            distances.rows, distances.cols);
    require(std::none_of(distances.values.begin(), distances.values.end(), [](double d) { return std::isnan(d); }),
            ErrorCode::internal, "[linkage] distances must be numbers, got one that is not");
    for (std::size_t i = 0; i < distances.rows; ++i) {
      group_of_[i] = i;
      live_.push_back(i);
    }
    for (const std::size_t i : live_) {
      find_nearest(i);
    }
  }

  [[nodiscard]] std::size_t count() const { return live_.size(); }
  [[nodiscard]] double smallest_distance() const { return distance(closest()); }

  void join_closest() {
    const std::size_t low = closest();
    const std::size_t high = nearest_[low];
    live_.erase(std::find(live_.begin(), live_.end(), high));
    std::replace(group_of_.begin(), group_of_.end(), high, low);
    for (const std::size_t other : live_) {
      if (other != low) {
        const double a = between(low, other);
        const double b = between(high, other);
        between(low, other) = linkage_ == Linkage::complete ? std::max(a, b) : std::min(a, b);
      }
    }
    for (const std::size_t i : live_) {
      // Above `low` only who lost its nearest has to look again; below, `low` itself may have moved nearer or away.
      const bool moved = i < low && (nearest_[i] == low || between(i, low) <= distance(i));
      if (i == low || nearest_[i] == high || moved) {
        find_nearest(i);
      }
    }
  }

  /// Group numbers 0, 1, ... by lowest item.
  [[nodiscard]] std::vector<std::size_t> numbered() const {
    std::vector<std::size_t> numbers;
    for (const std::size_t group : group_of_) {
      numbers.push_back(static_cast<std::size_t>(std::lower_bound(live_.begin(), live_.end(), group) - live_.begin()));
    }
    return numbers;
  }

 private:
  [[nodiscard]] double& between(std::size_t a, std::size_t b) { return distances_.at(std::min(a, b), std::max(a, b)); }
  [[nodiscard]] double distance(std::size_t low) const { return distances_.at(low, nearest_[low]); }

  void find_nearest(std::size_t low) {
    nearest_[low] = low;
    for (auto other = std::upper_bound(live_.begin(), live_.end(), low); other != live_.end(); ++other) {
      if (nearest_[low] == low || distances_.at(low, *other) < distance(low)) {
        nearest_[low] = *other;
      }
    }
  }

  /// The lower one of the nearest two groups; there are at least two.
  [[nodiscard]] std::size_t closest() const {
    std::size_t best = live_.front();
    for (const std::size_t i : live_) {
      if (nearest_[i] != i && distance(i) < distance(best)) {
        best = i;
      }
    }
    return best;
  }

  Matrix distances_;
  Linkage linkage_;
  std::vector<std::size_t> group_of_;
  std::vector<std::size_t> live_;     ///< in ascending order
  std::vector<std::size_t> nearest_;  ///< of higher number; itself where there is none
};

}  // namespace

std::vector<std::size_t> link_into(const Matrix& distances, Linkage linkage, std::size_t groups) {
  require(groups >= 1, ErrorCode::internal, "[linkage] groups must be >= 1, got {}", groups);
  Groups all(distances, linkage);
  while (all.count() > groups) {
    all.join_closest();
  }
  return all.numbered();
}

std::vector<std::size_t> link_within(const Matrix& distances, Linkage linkage, double cut) {
  Groups all(distances, linkage);
  while (all.count() > 1 && all.smallest_distance() <= cut) {
    all.join_closest();
  }
  return all.numbered();
}

}  // namespace feroma
