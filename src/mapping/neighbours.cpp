#include "feroma/mapping/neighbours.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "feroma/core/error.h"
#include "feroma/core/median.h"

namespace feroma {
namespace {

/// Distributions further apart than this times the noise have little to teach one another.
constexpr double kStranger = 3.5;
/// Class shares that differ by this times their noise explain why clients are apart.
constexpr double kOtherShares = 3;
/// How much further the kernel of clients without partners reaches.
constexpr double kReach = 2;

/// The variance of a class's share: of drawing so many samples, and of what was added on purpose.
double share_noise(const Profile& profile, std::size_t label) {
  const auto p = static_cast<double>(profile.prior[label]);
  const double drawn = p * (1 - p) / static_cast<double>(std::max<std::int64_t>(profile.num_samples, 1));
  const std::size_t added = profile.added_noise.size();
  return drawn + (added == 0 ? 0.0 : static_cast<double>(profile.added_noise[added - profile.prior.size() + label]));
}

/// How far class shares are apart, over what chance alone makes of them.
double share_ratio(const Profile& a, const Profile& b) {
  double squared = 0;
  double noise = 0;
  for (std::size_t u = 0; u < std::min(a.prior.size(), b.prior.size()); ++u) {
    const auto p = static_cast<double>(a.prior[u]);
    const auto q = static_cast<double>(b.prior[u]);
    squared += (p - q) * (p - q);
    noise += share_noise(a, u) + share_noise(b, u);
  }
  return noise > 0 ? std::sqrt(squared / noise) : 0;
}

}  // namespace

std::optional<double> width_to_neighbours(const WeightRule& rule, const Distances& distances,
                                          std::span<const Profile> queries, std::span<const Profile> parents,
                                          std::span<const std::size_t> own) {
  require(own.size() == queries.size() && queries.size() == distances.squared.rows &&
              parents.size() == distances.squared.cols,
          ErrorCode::internal, "[mapping] distances of {} x {} for {} queries and {} parents", distances.squared.rows,
          distances.squared.cols, queries.size(), parents.size());
  if (queries.empty() || parents.size() < 2) {
    return std::nullopt;
  }
  std::vector<double> away;
  std::vector<double> noise_ratios;
  std::vector<double> share_ratios;
  for (std::size_t r = 0; r < queries.size(); ++r) {
    std::size_t nearest = own[r] == 0 ? 1 : 0;
    for (std::size_t c = 0; c < parents.size(); ++c) {
      if (c != own[r] && distances.squared.at(r, c) < distances.squared.at(r, nearest)) {
        nearest = c;
      }
    }
    const double floor = distances.floor.at(r, nearest);
    away.push_back(std::sqrt(distances.squared.at(r, nearest)));
    noise_ratios.push_back(floor > 0 ? away.back() / std::sqrt(floor) : std::numeric_limits<double>::infinity());
    share_ratios.push_back(share_ratio(queries[r], parents[nearest]));
  }
  const double typical = median(noise_ratios);
  const bool alone = typical > kPartnerRatio && typical < kStranger && median(share_ratios) > kOtherShares;
  return alone ? std::optional(kReach * rule.width * median(away)) : std::nullopt;
}

bool class_shares_alike(std::span<const Profile> profiles) {
  std::vector<double> ratios;
  for (std::size_t a = 0; a < profiles.size(); ++a) {
    for (std::size_t b = a + 1; b < profiles.size(); ++b) {
      ratios.push_back(share_ratio(profiles[a], profiles[b]));
    }
  }
  return !ratios.empty() && median(ratios) <= kOtherShares;
}

}  // namespace feroma
