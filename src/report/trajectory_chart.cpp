#include "report/trajectory_chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "report/axis.h"
#include "report/line_chart.h"

namespace feroma::detail {
namespace {

constexpr double kMapWidth = 560;
constexpr double kMapHeight = 300;

struct Sample {
  int round = 0;
  double value = 0;
};
using Line = std::vector<Sample>;

/// From one client that has a line to the next.
std::size_t step_of(std::size_t clients) {
  return std::max<std::size_t>(1, (clients + kTrajectories - 1) / kTrajectories);
}

std::map<std::uint32_t, Line> lines_by_client(const AlgorithmRun& algorithm) {
  std::map<std::uint32_t, Line> lines;
  for (const RoundRecord& round : algorithm.rounds) {
    for (const ClientRecord& client : round.clients) {
      if (std::isfinite(client.accuracy_after)) {
        lines[client.client].push_back({round.round, client.accuracy_after});
      }
    }
  }
  return lines;
}

std::vector<Line> client_lines(const AlgorithmRun& algorithm) {
  std::map<std::uint32_t, Line> lines = lines_by_client(algorithm);
  std::vector<Line> chosen;
  std::size_t i = 0;
  for (auto& [client, line] : lines) {
    if (i++ % step_of(lines.size()) == 0) {
      chosen.push_back(std::move(line));
    }
  }
  return chosen;
}

std::string path_of(const Line& line, const PlotArea& area, int last, bool joined_always = false) {
  std::string path;
  for (std::size_t i = 0; i < line.size(); ++i) {
    // A client that was away for a round leaves a gap.
    const bool joined = i > 0 && (joined_always || line[i].round == line[i - 1].round + 1);
    path += fmt::format("{}{:.1f} {:.1f}", joined ? "L" : "M", area.x(line[i].round - 1, last), area.y(line[i].value));
  }
  return path;
}

std::string round_axis(const PlotArea& area, const CurveData& data) {
  std::string svg;
  const int every = data.last <= 12 ? 1 : data.last <= 60 ? 5 : data.last <= 120 ? 10 : 50;
  for (int round = 1; round <= data.last; ++round) {
    if (round == 1 || round % every == 0) {
      svg += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", area.x(round - 1, data.last),
                         area.bottom + 18, round);
    }
  }
  for (const int round : data.drifts) {
    const double x = area.x(round - 1.5, data.last);  // data change between two rounds
    svg += fmt::format(R"(<line class="drift" x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/>)", x, x, area.top, area.bottom);
  }
  return svg + fmt::format(R"(<text class="strong" x="{}" y="{:.1f}" text-anchor="end">round</text>)", kMapWidth - 10,
                           area.bottom + 36);
}

}  // namespace

ShownPart drawn_clients(const AlgorithmRun& algorithm) {
  const std::size_t all = lines_by_client(algorithm).size();
  return {(all + step_of(all) - 1) / step_of(all), all};
}

std::string trajectory_svg(const AlgorithmRun& algorithm, std::size_t colour) {
  const CurveData data = curves_of(std::span(&algorithm, 1));
  const std::vector<Line> clients = client_lines(algorithm);
  double low = 100;
  double high = 0;
  const auto widen = [&](double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  };
  for (const Line& line : clients) {
    for (const Sample& sample : line) {
      widen(sample.value);
    }
  }
  Line before;
  Line after;
  Line test;
  for (const RoundRecord& round : algorithm.rounds) {
    const double tested = round.test_accuracy.value_or(std::numeric_limits<double>::quiet_NaN());
    for (const auto& [line, value] :
         {std::pair<Line*, double>{&before, round.accuracy_before}, {&after, round.accuracy_after}, {&test, tested}}) {
      if (std::isfinite(value)) {
        line->push_back({round.round, value});
        widen(value);
      }
    }
  }
  PlotArea area{48, kMapWidth - 10, 28, kMapHeight - 42, low > high ? Scale{} : scale_for(low, high)};
  std::string svg = open_svg(kMapWidth, kMapHeight,
                             fmt::format("Accuracy of {} over {} rounds, {} clients behind their mean; data change "
                                         "before {} of the rounds",
                                         algorithm.label, data.last, clients.size(), data.drifts.size()));
  svg += vertical_axis_svg(area, "accuracy %") + round_axis(area, data);
  const std::size_t c = colour % kColours;
  for (const Line& line : clients) {
    svg += fmt::format(R"(<path class="client c{}" d="{}"/>)", c, path_of(line, area, data.last));
  }
  for (const auto& [line, classes] :
       {std::pair<const Line*, const char*>{&before, "before "}, {&after, "after "}, {&test, ""}}) {
    if (!line->empty()) {
      // Between tests there are rounds without one.
      svg += fmt::format(R"(<path class="curve {}c{}" d="{}h0"/>)", classes, c,
                         path_of(*line, area, data.last, /*joined_always=*/line == &test));
    }
  }
  return svg + "</svg>";
}

}  // namespace feroma::detail
