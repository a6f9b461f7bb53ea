#include "dashboard/run_state.h"

#include <algorithm>
#include <cmath>

#include "feroma/core/error.h"

namespace feroma::dashboard {
namespace {

/// What is damaged is shown up to here; the rest is counted.
constexpr std::size_t kShownDamage = 20;

/// The value below which a share of the sorted values lies.
double quantile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
}

}  // namespace

const Place* place_of(const std::vector<Place>& places, int round) {
  const auto after = std::upper_bound(places.begin(), places.end(), round,
                                      [](int wanted, const Place& place) { return wanted < place.round; });
  return after == places.begin() ? nullptr : &*(after - 1);
}

void Damage::add(std::string text) {
  count += 1;
  if (first.size() < kShownDamage) {
    first.push_back(std::move(text));
  }
}

AlgorithmState& RunState::algorithm(const std::string& label) {
  for (AlgorithmState& one : algorithms) {
    if (one.label == label) {
      return one;
    }
  }
  algorithms.emplace_back().label = label;
  return algorithms.back();
}

const AlgorithmState* RunState::find(const std::string& label) const {
  const auto found =
      std::find_if(algorithms.begin(), algorithms.end(), [&](const auto& a) { return a.label == label; });
  return found == algorithms.end() ? nullptr : &*found;
}

ClientState* RunState::client(AlgorithmState& algorithm, std::uint32_t id) {
  const auto found = algorithm.clients.find(id);
  if (found != algorithm.clients.end()) {
    return &found->second;
  }
  if (algorithm.clients.size() == kMostClients) {
    algorithm.has_more_clients = true;
    return nullptr;
  }
  return &algorithm.clients[id];
}

void RunState::take_client(std::string_view text, const std::string& where, std::uint64_t offset) {
  if (offset == 0) {
    try {
      client_columns = detail::ClientLines(text, where);
    } catch (const Error& error) {
      foreign_clients_ = true;
      damage.add(fmt::format("{}, so nothing of the file is shown", error.what()));
    }
    return;
  }
  if (refused || foreign_clients_) {
    return;
  }
  try {
    const auto [label, round, seen] = client_columns.parse(text, where);
    AlgorithmState& owner = algorithm(label);
    if (owner.client_lines.empty() || batch_.label != label || batch_.round != round) {
      settle();
      batch_ = {label, round, {}};
      owner.client_lines.push_back({round, offset, 0});
    }
    Place& lines = owner.client_lines.back();
    lines.size = static_cast<std::size_t>(offset - lines.offset) + text.size() + 1;
    if (!std::isnan(seen.accuracy_after)) {
      batch_.accuracies.push_back(seen.accuracy_after);  // others did not tell theirs
    }
    owner.client_rows += 1;
    if (ClientState* kept = client(owner, seen.client)) {
      kept->rounds += 1;
      kept->last_round = std::max(kept->last_round, round);
      kept->distribution = seen.distribution;
      kept->num_examples = seen.num_examples;
      kept->loss = seen.loss;
      kept->accuracy_before = seen.accuracy_before;
      kept->accuracy_after = seen.accuracy_after;
      kept->strategy = seen.strategy;
    }
  } catch (const Error& error) {
    damage.add(error.what());
  }
}

void RunState::settle() {
  if (batch_.accuracies.empty()) {
    return;
  }
  std::sort(batch_.accuracies.begin(), batch_.accuracies.end());
  std::vector<Spread>& spreads = algorithm(batch_.label).spreads;
  if (spreads.empty() || spreads.back().round != batch_.round) {
    if (spreads.size() == kMostRounds) {
      spreads.erase(spreads.begin(), spreads.begin() + kMostRounds / 2);
    }
    spreads.emplace_back().round = batch_.round;
  }
  spreads.back() = {batch_.round, quantile(batch_.accuracies, 0.1), quantile(batch_.accuracies, 0.5),
                    quantile(batch_.accuracies, 0.9), batch_.accuracies.size()};
}

}  // namespace feroma::dashboard
