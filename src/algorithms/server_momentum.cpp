#include "algorithms/server_momentum.h"

#include <algorithm>

#include "algorithms/strangers.h"
#include "feroma/aggregation/mix.h"

namespace feroma {
namespace {

// A client further than so many times the noise from the nearest parent's data does not follow its momentum.
constexpr double kOwnWay = 2.8;

/// Whose momentum a receiver follows.
std::size_t leader_of(const FeromaOptions& options, const Receiver& receiver, std::span<const Parent> parents,
                      std::span<const double> row) {
  const auto nearest = static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
  if (options.fold == Fold::mean) {
    return nearest;
  }
  const auto own = std::find_if(parents.begin(), parents.end(),
                                [&](const Parent& parent) { return parent.client == receiver.client; });
  return own == parents.end() ? nearest : static_cast<std::size_t>(own - parents.begin());
}

}  // namespace

ParametersPtr Start::model() const {
  return before == nullptr ? mixture : share(extrapolate(mixture, before, momentum));
}

std::vector<Start> starts_of(const FeromaOptions& options, const ProfileShape& shape, const BlockScaler& scaler,
                             std::span<const Receiver> receivers, std::span<const Parent> parents, const Matrix& mixing,
                             std::vector<Parameters> mixed) {
  std::vector<std::size_t> leaders;
  for (std::size_t r = 0; r < mixed.size(); ++r) {
    leaders.push_back(leader_of(options, receivers[r], parents, mixing.row(r)));
  }
  const bool carries = options.server_momentum > 0;
  const std::vector<double> ratios =
      carries ? strangeness(options, shape, scaler, receivers, parents, leaders) : std::vector<double>(mixed.size());
  std::vector<Start> starts;
  for (std::size_t r = 0; r < mixed.size(); ++r) {
    const Parent& leader = parents[leaders[r]];
    const bool trusted = options.fold == Fold::mean || leader.client == receivers[r].client;
    starts.push_back({share(std::move(mixed[r])), trusted && ratios[r] <= kOwnWay ? leader.mixture : nullptr,
                      options.server_momentum, ratios[r] <= kOwnWay});
  }
  return starts;
}

bool training_pays(const std::map<ClientId, Message>& answers) {
  std::int64_t gain = 0;
  for (const auto& [client, answer] : answers) {
    gain += answer.integer("gain");
  }
  return gain > 0;
}

}  // namespace feroma
