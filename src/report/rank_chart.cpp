#include "report/rank_chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "report/axis.h"
#include "report/markup.h"

namespace feroma::detail {
namespace {

constexpr double kRanksWidth = 640;  ///< or more, where labels need it
constexpr double kLine = 62;         ///< where the ranks stand
constexpr double kStep = 18;

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> rank_groups(const std::vector<double>& sorted_ranks,
                                                             double critical_difference) {
  std::vector<std::pair<std::size_t, std::size_t>> groups;
  for (std::size_t first = 0; first < sorted_ranks.size(); ++first) {
    std::size_t last = first;
    while (last + 1 < sorted_ranks.size() && sorted_ranks[last + 1] - sorted_ranks[first] <= critical_difference) {
      ++last;
    }
    if (last > first && (groups.empty() || groups.back().second < last)) {
      groups.emplace_back(first, last);
    }
  }
  return groups;
}

std::string rank_chart_svg(const Comparison& comparison) {
  const std::vector<double>& ranks = comparison.friedman.mean_ranks;
  const std::size_t count = ranks.size();
  const std::size_t left_side = (count + 1) / 2;
  double margin = 0;
  for (const std::string& label : comparison.labels) {
    margin = std::max(margin, text_width(label + " (00.00)") + 20);
  }
  const double width = std::max(kRanksWidth, 2 * margin + kRanksWidth / 3);
  const auto x = [&](double rank) {
    return margin + (width - 2 * margin) * (rank - 1) / std::max(1.0, static_cast<double>(count) - 1);
  };
  const auto groups = rank_groups(ranks, comparison.critical_difference);
  const double first_label = kLine + 24 + 9 * static_cast<double>(groups.size());
  const double height = first_label + kStep * static_cast<double>(left_side) + 6;
  std::string svg = open_svg(
      width, height,
      fmt::format("Critical-difference diagram of {} algorithms over {}; best: {} with mean rank {:.2f}", count,
                  comparison.count_text(comparison.friedman.blocks), comparison.labels.front(), ranks.front()));
  svg += fmt::format(R"(<path class="rule" d="M{:.1f} {}H{:.1f}"/>)", x(1), kLine, x(static_cast<double>(count)));
  const std::size_t every = count > 12 ? 5 : 1;
  for (std::size_t rank = 1; rank <= count; ++rank) {
    const double at = x(static_cast<double>(rank));
    svg += fmt::format(R"(<path class="rule" d="M{:.1f} {}v-5"/>)", at, kLine);
    if (rank == 1 || rank == count || rank % every == 0) {
      svg += fmt::format(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)", at, kLine - 10, rank);
    }
  }
  const double reach = std::min(x(1 + comparison.critical_difference), width - 4);
  svg += fmt::format(R"(<path class="rule" d="M{:.1f} 18v8M{:.1f} 22H{:.1f}M{:.1f} 18v8"/>)", x(1), x(1), reach, reach);
  svg += fmt::format(R"(<text class="strong" x="{:.1f}" y="12">critical difference {:.2f}</text>)", x(1),
                     comparison.critical_difference);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    svg += fmt::format(R"(<path class="group" d="M{0:.1f} {2:.1f}H{1:.1f}"/>)", x(ranks[groups[g].first]) - 3,
                       x(ranks[groups[g].second]) + 3, kLine + 11 + 9 * static_cast<double>(g));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const bool left = i < left_side;
    const double y = first_label + kStep * static_cast<double>(left ? i : count - 1 - i) + 8;
    const double end = left ? margin - 4 : width - margin + 4;
    svg += fmt::format(R"(<path class="rule" d="M{:.1f} {}V{:.1f}H{:.1f}"/>)", x(ranks[i]), kLine, y, end);
    svg += fmt::format(R"(<text class="strong" x="{:.1f}" y="{:.1f}" text-anchor="{}">{} ({:.2f})</text>)",
                       left ? end - 4 : end + 4, y + 4, left ? "end" : "start", escape_html(comparison.labels[i]),
                       ranks[i]);
  }
  return svg + "</svg>";
}

}  // namespace feroma::detail
