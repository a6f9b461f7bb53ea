#include "report/heat_map.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace feroma::detail {
namespace {

using Json = nlohmann::ordered_json;

std::string encode(const std::vector<double>& weights) {
  constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::string text;
  text.reserve(2 * weights.size());
  for (const double weight : weights) {
    const auto mille = static_cast<std::size_t>(std::lround(1000 * (weight > 0 ? std::min(weight, 1.0) : 0.0)));
    text += {kDigits[mille / 36], kDigits[mille % 36]};
  }
  return text;
}

/// The distribution behind each client's data: the latest known up to `round`, else the first one, else 0.
std::vector<int> distributions_until(const AlgorithmRun& algorithm, const std::vector<std::uint32_t>& clients,
                                     int round) {
  std::map<std::uint32_t, int> known;
  for (const RoundRecord& record : algorithm.rounds) {
    for (const ClientRecord& client : record.clients) {
      if (record.round <= round || !known.contains(client.client)) {
        known[client.client] = client.distribution;
      }
    }
  }
  std::vector<int> found;
  for (const std::uint32_t client : clients) {
    const auto entry = known.find(client);
    found.push_back(entry == known.end() ? 0 : entry->second);
  }
  return found;
}

Json number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json round_json(const AlgorithmRun& algorithm, const MixingFile& mixing) {
  const RoundRecord* record = algorithm.find(mixing.round);
  const RoundRecord none;
  const RoundRecord& numbers = record == nullptr ? none : *record;
  // A source's model was trained in an earlier round, on the data it had then.
  return {{"round", mixing.round},
          {"receivers", mixing.receivers},
          {"sources", mixing.sources},
          {"receiver_distributions", distributions_until(algorithm, mixing.receivers, mixing.round)},
          {"source_distributions", distributions_until(algorithm, mixing.sources, mixing.round - 1)},
          {"contraction", number(numbers.contraction)},
          {"column_sum_min", number(numbers.column_sum_min)},
          {"column_sum_max", number(numbers.column_sum_max)},
          {"weights", encode(read_mixing(mixing))}};
}

}  // namespace

Json heat_map_json(const AlgorithmRun& algorithm, std::size_t cell_budget) {
  std::vector<const MixingFile*> fitting;
  std::size_t cells = 0;
  for (const MixingFile& mixing : algorithm.mixing) {
    const std::size_t own = mixing.receivers.size() * mixing.sources.size();
    if (own <= cell_budget) {
      fitting.push_back(&mixing);
      cells += own;
    }
  }
  const std::size_t every = std::max<std::size_t>(1, (cells + cell_budget - 1) / std::max<std::size_t>(1, cell_budget));
  Json rounds = Json::array();
  for (std::size_t i = 0; i < fitting.size(); ++i) {
    // Counted from the end, so that the last round is always there.
    if ((fitting.size() - 1 - i) % every == 0) {
      rounds.push_back(round_json(algorithm, *fitting[i]));
    }
  }
  return {{"label", algorithm.label}, {"of", algorithm.mixing.size()}, {"rounds", std::move(rounds)}};
}

}  // namespace feroma::detail
