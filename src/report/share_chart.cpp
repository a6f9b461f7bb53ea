#include "report/share_chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "report/markup.h"

namespace feroma::detail {
namespace {

constexpr double kSharesWidth = 480;
constexpr double kSharesHeight = 190;
constexpr double kSharesLeft = 40;
constexpr double kSharesTop = 8;
constexpr double kSharesBottom = 160;
constexpr double kMaxBar = 40;

using Shares = std::array<std::pair<std::string_view, double>, 3>;

Shares shares_of(const RoundRecord& round) {
  return {{{"personal", round.personal_share.value_or(0)},
           {"clustered", round.clustered_share.value_or(0)},
           {"global", round.global_share.value_or(0)}}};
}

bool round_has_shares(const RoundRecord& round) {
  return round.global_share || round.clustered_share || round.personal_share;
}

std::string bar_svg(const RoundRecord& round, double x, double width) {
  std::string svg = "<g>";
  std::string text = fmt::format("round {}:", round.round);
  double y = kSharesBottom;
  for (const auto& [name, share] : shares_of(round)) {
    const double height = std::clamp(share, 0.0, 1.0) * (kSharesBottom - kSharesTop);
    y -= height;
    if (height > 0) {
      svg += fmt::format(R"(<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)", name, x, y,
                         width, height > 1 ? height - 0.7 : height);
    }
    text += fmt::format(" {} {:.0f} %", name, 100 * share);
  }
  return svg + "<title>" + text + "</title></g>";
}

}  // namespace

bool has_shares(const AlgorithmRun& algorithm) {
  return std::any_of(algorithm.rounds.begin(), algorithm.rounds.end(), round_has_shares);
}

std::string share_chart_svg(const AlgorithmRun& algorithm) {
  std::string svg =
      fmt::format(R"(<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="Strategy shares of {} per round">)",
                  kSharesWidth, kSharesHeight, escape_html(algorithm.label));
  for (const int percent : {0, 50, 100}) {
    const double y = kSharesBottom - (kSharesBottom - kSharesTop) * percent / 100;
    svg +=
        fmt::format(R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)", kSharesLeft, kSharesWidth, y, y);
    svg += fmt::format(R"(<text x="{}" y="{:.1f}" text-anchor="end">{} %</text>)", kSharesLeft - 6, y + 4, percent);
  }
  const int count = algorithm.rounds.back().round;
  const double step = (kSharesWidth - kSharesLeft) / std::max(1, count);
  const double width = std::min(kMaxBar, step * 0.84);
  for (const RoundRecord& round : algorithm.rounds) {
    const double middle = kSharesLeft + step * (round.round - 0.5);
    if (round_has_shares(round)) {
      svg += bar_svg(round, middle - width / 2, width);
    }
    const int every = count <= 10 ? 1 : count <= 50 ? 5 : 20;
    if (round.round == 1 || round.round % every == 0) {
      svg += fmt::format(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)", middle, kSharesBottom + 18,
                         round.round);
    }
  }
  return svg + "</svg>";
}

}  // namespace feroma::detail
