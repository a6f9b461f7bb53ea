#include "report/mixing_chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "report/axis.h"

namespace feroma::detail {
namespace {

constexpr double kMixingWidth = 560;
constexpr double kGap = 14;
constexpr double kStrip = 4;
constexpr double kLeast = 0.004;  // weights below it would not be seen
/// Of a figure; beyond it the page's own map is the one to look at.
constexpr std::size_t kMostCells = kMixingMost * kMixingMost;

/// The root makes small weights visible.
std::string cell_svg(double x, double y, double width, double height, double weight) {
  return weight < kLeast ? ""
                         : fmt::format(R"(<rect class="cell" x="{:.1f}" y="{:.1f}" width="{:.2f}" height="{:.2f}" )"
                                       R"(fill-opacity="{:.2f}"/>)",
                                       x, y, width, height, std::sqrt(std::min(weight, 1.0)));
}

std::string empty_svg(double x, double y, double width, double height) {
  return fmt::format(R"(<rect class="empty" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)", x, y, width,
                     height);
}

using Distributions = std::map<std::uint32_t, int>;

Distributions distributions_in(const AlgorithmRun& algorithm, int round) {
  Distributions known;
  const RoundRecord* record = algorithm.find(round);
  if (record != nullptr) {
    for (const ClientRecord& client : record->clients) {
      known[client.client] = client.distribution;
    }
  }
  return known;
}

int of(const Distributions& known, std::uint32_t client) {
  const auto found = known.find(client);
  return found == known.end() ? 0 : found->second;
}

/// Places in the order of distributions, then of clients.
std::vector<std::size_t> order_of(const std::vector<std::uint32_t>& clients, const Distributions& known) {
  std::vector<std::size_t> order(clients.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    return std::pair(of(known, clients[i]), clients[i]) < std::pair(of(known, clients[j]), clients[j]);
  });
  return order;
}

std::string round_panel(const AlgorithmRun& algorithm, const MixingFile& mixing, double x, double y, double size) {
  const std::vector<double> weights = read_mixing(mixing);
  // A source was trained on what it had the round before.
  const Distributions now = distributions_in(algorithm, mixing.round);
  const Distributions then = distributions_in(algorithm, mixing.round - 1);
  const std::vector<std::size_t> rows = order_of(mixing.receivers, now);
  const std::vector<std::size_t> columns = order_of(mixing.sources, then);
  const double height = (size - kStrip) / static_cast<double>(rows.size());
  const double width = (size - kStrip) / static_cast<double>(columns.size());
  std::string svg = fmt::format(R"(<text class="head" x="{:.1f}" y="{:.1f}">round {}</text>)", x, y - 5, mixing.round);
  svg += empty_svg(x + kStrip, y + kStrip, size - kStrip, size - kStrip);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double top = y + kStrip + static_cast<double>(r) * height;
    svg += fmt::format(R"(<rect fill="{}" x="{:.1f}" y="{:.1f}" width="3" height="{:.2f}"/>)",
                       distribution_colour(of(now, mixing.receivers[rows[r]])), x, top, height);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      svg += cell_svg(x + kStrip + static_cast<double>(c) * width, top, width, height,
                      weights[rows[r] * columns.size() + columns[c]]);
    }
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    svg += fmt::format(R"(<rect fill="{}" x="{:.1f}" y="{:.1f}" width="{:.2f}" height="3"/>)",
                       distribution_colour(of(then, mixing.sources[columns[c]])),
                       x + kStrip + static_cast<double>(c) * width, y, width);
  }
  return svg;
}

/// At most `most` of `count` items, evenly and with the last.
std::vector<std::size_t> chosen(std::size_t count, std::size_t most) {
  std::vector<std::size_t> places;
  const std::size_t shown = std::min(count, most);
  for (std::size_t i = 1; i <= shown; ++i) {
    places.push_back(i * count / shown - 1);
  }
  return places;
}

/// At most `most` of `count` items, at least two, evenly and with the first and the last.
std::vector<std::size_t> chosen_with_ends(std::size_t count, std::size_t most) {
  std::vector<std::size_t> places;
  const std::size_t shown = std::min(count, std::max<std::size_t>(most, 2));
  for (std::size_t i = 0; i < shown; ++i) {
    places.push_back(shown == 1 ? 0 : i * (count - 1) / (shown - 1));
  }
  return places;
}

/// The cells of the largest of the rounds.
std::size_t largest_panel(const AlgorithmRun& algorithm) {
  std::size_t most = 0;
  for (const MixingFile& mixing : algorithm.mixing) {
    most = std::max(most, mixing.receivers.size() * mixing.sources.size());
  }
  return most;
}

/// What each receiver took from each source, by the place of the round in AlgorithmRun::mixing.
using OverRounds = std::map<std::uint32_t, std::map<std::size_t, std::map<std::uint32_t, double>>>;

OverRounds over_rounds(const AlgorithmRun& algorithm, const std::vector<std::size_t>& places) {
  OverRounds all;
  for (const std::size_t place : places) {
    const MixingFile& mixing = algorithm.mixing[place];
    const std::vector<double> weights = read_mixing(mixing);
    for (std::size_t r = 0; r < mixing.receivers.size() && r < kMixingClients; ++r) {
      for (std::size_t c = 0; c < mixing.sources.size(); ++c) {
        all[mixing.receivers[r]][place][mixing.sources[c]] = weights[r * mixing.sources.size() + c];
      }
    }
  }
  while (all.size() > kMixingClients) {
    all.erase(std::prev(all.end()));
  }
  return all;
}

/// The rounds of the picture by round, as places in AlgorithmRun::mixing.
std::vector<std::size_t> round_panels(const AlgorithmRun& algorithm) {
  const std::size_t largest = largest_panel(algorithm);
  if (largest == 0 || largest > kMostCells) {
    return {};
  }
  return chosen(algorithm.mixing.size(), std::min(kMixingRounds, kMostCells / largest));
}

}  // namespace

bool mixes_too_many(const AlgorithmRun& algorithm) { return largest_panel(algorithm) > kMostCells; }

ShownPart mixing_rounds_shown(const AlgorithmRun& algorithm) {
  return {round_panels(algorithm).size(), algorithm.mixing.size()};
}

std::string mixing_rounds_svg(const AlgorithmRun& algorithm) {
  const std::vector<std::size_t> places = round_panels(algorithm);
  if (places.empty()) {
    return "";
  }
  constexpr double kPanels = 3;
  constexpr double kSize = (kMixingWidth - (kPanels - 1) * kGap) / kPanels;
  std::string panels;
  double bottom = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double x = static_cast<double>(i % 3) * (kSize + kGap);
    const double y = 20 + static_cast<double>(i / 3) * (kSize + 30);
    panels += round_panel(algorithm, algorithm.mixing[places[i]], x, y, kSize);
    bottom = y + kSize;
  }
  return open_svg(kMixingWidth, bottom + 24,
                  fmt::format("Mixing weights of {} in {} of {} rounds: receiving clients down, sources across, sorted "
                              "by true distribution",
                              algorithm.label, places.size(), algorithm.mixing.size())) +
         panels +
         fmt::format(R"(<text class="strong" x="2" y="{:.1f}">rows: receivers, columns: sources, strips: true )"
                     R"(distribution</text></svg>)",
                     bottom + 18);
}

std::vector<std::size_t> mixing_client_rounds(const AlgorithmRun& algorithm) {
  if (mixes_too_many(algorithm)) {
    return {};
  }
  std::size_t most = 1;
  for (const MixingFile& mixing : algorithm.mixing) {
    most = std::max(most, std::min(mixing.receivers.size(), kMixingClients) * mixing.sources.size());
  }
  return chosen_with_ends(algorithm.mixing.size(), kMostCells / most);
}

ShownPart mixing_clients_shown(const AlgorithmRun& algorithm) {
  std::set<std::uint32_t> receivers;
  for (const std::size_t place : mixing_client_rounds(algorithm)) {
    receivers.insert(algorithm.mixing[place].receivers.begin(), algorithm.mixing[place].receivers.end());
  }
  return {std::min(receivers.size(), kMixingClients), receivers.size()};
}

std::string mixing_clients_svg(const AlgorithmRun& algorithm) {
  const std::vector<std::size_t> places = mixing_client_rounds(algorithm);
  const OverRounds all = over_rounds(algorithm, places);
  if (all.empty()) {
    return "";
  }
  constexpr double kAcross = 4;
  constexpr double kSize = (kMixingWidth - (kAcross - 1) * kGap) / kAcross;
  const int first = algorithm.mixing.front().round;
  const int last = algorithm.mixing.back().round;
  const bool whole = places.size() == algorithm.mixing.size();
  // A round without mixing leaves a gap; of chosen rounds one stands beside the next.
  std::map<std::size_t, double> columns;
  for (const std::size_t place : places) {
    columns.emplace(place, whole ? algorithm.mixing[place].round - first : static_cast<double>(columns.size()));
  }
  const double width = kSize / (whole ? last - first + 1 : static_cast<double>(places.size()));
  std::map<std::uint32_t, std::size_t> sources;
  for (const std::size_t place : places) {
    for (const std::uint32_t source : algorithm.mixing[place].sources) {
      sources.emplace(source, 0);
    }
  }
  std::size_t next = 0;
  for (auto& [source, place] : sources) {
    place = next++;
  }
  const double height = kSize / static_cast<double>(sources.size());
  std::string panels;
  double bottom = 0;
  std::size_t i = 0;
  for (const auto& [receiver, by_round] : all) {
    const double x = static_cast<double>(i % 4) * (kSize + kGap);
    const double y = 20 + static_cast<double>(i / 4) * (kSize + 26);
    panels += fmt::format(R"(<text class="head" x="{:.1f}" y="{:.1f}">client {}</text>)", x, y - 5, receiver);
    panels += empty_svg(x, y, kSize, kSize);
    for (const auto& [place, weights] : by_round) {
      for (const auto& [source, weight] : weights) {
        panels += cell_svg(x + columns.at(place) * width, y + static_cast<double>(sources.at(source)) * height, width,
                           height, weight);
      }
    }
    bottom = y + kSize;
    ++i;
  }
  const std::string across =
      fmt::format("{}rounds {} to {}", whole ? "" : fmt::format("{} of the ", places.size()), first, last);
  return open_svg(kMixingWidth, bottom + 24,
                  fmt::format("Whose models each client of {} took, round by round: sources down, {} across",
                              algorithm.label, across)) +
         panels +
         fmt::format(R"(<text class="strong" x="2" y="{:.1f}">rows: source clients, columns: {}</text></svg>)",
                     bottom + 18, across);
}

}  // namespace feroma::detail
