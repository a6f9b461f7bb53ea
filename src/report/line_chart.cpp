#include "report/line_chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "report/axis.h"

namespace feroma::detail {
namespace {

constexpr double kWidth = 1000;
constexpr double kHeight = 340;
constexpr double kLeft = 44;
constexpr double kRight = 984;
constexpr double kTop = 12;
constexpr double kBottom = 300;

Scale scale_of(const CurveData& data) {
  double low = 100;
  double high = 0;
  for (const Curve& curve : data.curves) {
    for (const std::optional<double>& value : curve.headline()) {
      low = std::min(low, value.value_or(low));
      high = std::max(high, value.value_or(high));
    }
  }
  return low > high ? Scale{} : scale_for(low, high);
}

/// Turns rounds and values into places of the drawing.
class Frame {
 public:
  explicit Frame(const CurveData& data)
      : first_(data.first), rounds_(std::max(1, data.last - data.first)), scale_(scale_of(data)) {}

  [[nodiscard]] double x(int round) const { return kLeft + (kRight - kLeft) * (round - first_) / rounds_; }
  [[nodiscard]] double y(double value) const {
    return kBottom - (kBottom - kTop) * (value - scale_.low) / (scale_.high - scale_.low);
  }
  [[nodiscard]] const Scale& scale() const { return scale_; }

 private:
  int first_;
  int rounds_;
  Scale scale_;
};

std::string axes(const CurveData& data, const Frame& frame) {
  std::string svg;
  const Scale& scale = frame.scale();
  for (double value = scale.low; value <= scale.high + scale.step / 2; value += scale.step) {
    svg += fmt::format(R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)", kLeft, kRight, frame.y(value),
                       frame.y(value));
    svg +=
        fmt::format(R"(<text x="{}" y="{:.1f}" text-anchor="end">{:g}</text>)", kLeft - 8, frame.y(value) + 4, value);
  }
  const int rounds = data.last - data.first + 1;
  const int every = rounds <= 25 ? 1 : rounds <= 60 ? 5 : rounds <= 150 ? 10 : 50;
  for (int round = data.first; round <= data.last; ++round) {
    if (round == data.first || round % every == 0) {
      svg +=
          fmt::format(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)", frame.x(round), kBottom + 20, round);
    }
  }
  svg += fmt::format(R"(<text x="{}" y="{}" text-anchor="end">round</text>)", kRight, kBottom + 38);
  for (const int round : data.drifts) {
    // Data change between two rounds, so the line stands between them.
    const double x = frame.x(round) - (frame.x(data.first + 1) - frame.x(data.first)) / 2;
    svg += fmt::format(R"(<line class="drift" x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/>)", x, x, kTop, kBottom);
  }
  return svg;
}

/// One path; a missing round breaks the line, unless it merely was not tested. Curves of more algorithms are dashed, so
/// that what they cover is seen.
std::string curve_svg(const Curve& curve, const CurveData& data, const Frame& frame, const std::string& classes) {
  const std::vector<std::optional<double>>& values = curve.headline();
  std::string path;
  std::string dots;
  bool pen_down = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) {
      const double x = frame.x(data.first + static_cast<int>(i));
      path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", x, frame.y(*values[i]));
      if (curve.tested()) {
        dots +=
            fmt::format(R"(<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="3.5"/>)", classes, x, frame.y(*values[i]));
      }
    }
    pen_down = values[i] || (pen_down && curve.tested());
  }
  if (path.empty()) {
    return "";
  }
  // "h0" makes a path of one point visible.
  return fmt::format(R"(<path class="curve {}" d="{}h0"/>)", classes, path) + dots;
}

std::vector<int> drifts_of(std::span<const AlgorithmRun> algorithms) {
  std::set<int> drifts;
  for (const AlgorithmRun& algorithm : algorithms) {
    std::map<std::uint32_t, int> last;
    for (const RoundRecord& round : algorithm.rounds) {
      for (const ClientRecord& client : round.clients) {
        const auto seen = last.find(client.client);
        if (seen != last.end() && seen->second != client.distribution) {
          drifts.insert(round.round);
        }
        last[client.client] = client.distribution;
      }
    }
  }
  return {drifts.begin(), drifts.end()};
}

std::optional<double> finite(double value) { return std::isfinite(value) ? std::optional(value) : std::nullopt; }

}  // namespace

const char* dash_class(std::size_t series) {
  static constexpr const char* kDashes[] = {"dash1", "dash2", "dash3"};
  return series == 0 ? "" : kDashes[(series - 1) % std::size(kDashes)];
}

bool Curve::tested() const {
  return std::any_of(test.begin(), test.end(), [](const auto& value) { return value.has_value(); });
}

namespace {

/// Whether some curves, and whether all of them, are of test accuracy.
std::pair<bool, bool> tested(const CurveData& data) {
  const auto is = [](const Curve& curve) { return curve.tested(); };
  return {std::any_of(data.curves.begin(), data.curves.end(), is),
          std::all_of(data.curves.begin(), data.curves.end(), is)};
}

}  // namespace

std::string headline_name(const CurveData& data) {
  const auto [some, all] = tested(data);
  return all ? "test accuracy" : some ? "accuracy" : "accuracy as served";
}

std::string headline_sentences(const CurveData& data) {
  const auto [some, all] = tested(data);
  std::string text;
  if (some) {
    text =
        "Test accuracy: the mean over test clients, each served the method's own way with what there is after the "
        "round; the last point is the accuracy of the results.";
  }
  if (!all) {
    text += fmt::format(
        "{}Accuracy as served: the mean over training clients of the model that each was given, on its "
        "own held-out samples, before it trained.",
        some ? " " : "");
  }
  return text;
}

CurveData curves_of(std::span<const AlgorithmRun> algorithms) {
  CurveData data;
  for (const AlgorithmRun& algorithm : algorithms) {
    for (const RoundRecord& round : algorithm.rounds) {
      data.last = std::max(data.last, round.round);
    }
  }
  const auto rounds = static_cast<std::size_t>(data.last - data.first + 1);
  for (const AlgorithmRun& algorithm : algorithms) {
    Curve curve{algorithm.label, std::vector<std::optional<double>>(rounds), std::vector<std::optional<double>>(rounds),
                std::vector<std::optional<double>>(rounds)};
    for (const RoundRecord& round : algorithm.rounds) {
      if (round.round >= data.first) {
        const auto place = static_cast<std::size_t>(round.round - data.first);
        curve.before[place] = finite(round.accuracy_before);
        curve.after[place] = finite(round.accuracy_after);
        curve.test[place] = round.test_accuracy;
      }
    }
    data.curves.push_back(std::move(curve));
  }
  data.drifts = drifts_of(algorithms);
  return data;
}

std::string line_chart_svg(const CurveData& data) {
  const Frame frame(data);
  std::string svg =
      fmt::format(R"(<svg class="chart" id="curves" viewBox="0 0 {} {}" role="img" aria-label="{} per round")"
                  R"( data-left="{}" data-right="{}">)",
                  kWidth, kHeight, headline_name(data), kLeft, kRight);
  svg += axes(data, frame);
  for (std::size_t i = 0; i < data.curves.size(); ++i) {
    svg += curve_svg(data.curves[i], data, frame, fmt::format("s{} c{} {}", i, i % kColours, dash_class(i)));
  }
  svg += fmt::format(R"(<line class="cursor" x1="0" x2="0" y1="{}" y2="{}"/>)", kTop, kBottom);
  svg += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" fill="none" pointer-events="all"/></svg>)", kLeft,
                     kTop, kRight - kLeft, kBottom - kTop);
  return svg;
}

}  // namespace feroma::detail
