#include "algorithms/server_momentum.h"

#include <algorithm>

#include "algorithms/strangers.h"
#include "feroma/aggregation/mix.h"

namespace feroma {
namespace {

// A client further than so many times the noise from the nearest parent's data does not follow its momentum.
constexpr double kOwnWay = 2.8;

}  // namespace

ParametersPtr Start::model() const {
  return before == nullptr ? mixture : share(extrapolate(mixture, before, momentum));
}

std::vector<Start> starts_of(const FeromaOptions& options, const ProfileShape& shape, const BlockScaler& scaler,
                             std::span<const Receiver> receivers, std::span<const Parent> parents, const Matrix& mixing,
                             std::vector<Parameters> mixed) {
  std::vector<std::size_t> nearest;
  for (std::size_t r = 0; r < mixed.size(); ++r) {
    const auto row = mixing.row(r);
    nearest.push_back(static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  const bool carries = options.server_momentum > 0;
  const std::vector<double> ratios =
      carries ? strangeness(options, shape, scaler, receivers, parents, nearest) : std::vector<double>(mixed.size());
  std::vector<Start> starts;
  for (std::size_t r = 0; r < mixed.size(); ++r) {
    starts.push_back({share(std::move(mixed[r])), ratios[r] <= kOwnWay ? parents[nearest[r]].mixture : nullptr,
                      options.server_momentum});
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
