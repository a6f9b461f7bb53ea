#pragma once

#include <string>
#include <string_view>

#include "feroma/preview/preview.h"
#include "feroma/preview/text.h"
#include "preview/palette.h"

namespace feroma::detail {

// Pixels.
inline constexpr int kMargin = 20;
inline constexpr int kTitleHeight = 60;
inline constexpr int kLineHeight = 18;
inline constexpr int kHeadingHeight = 40;
inline constexpr int kRowHeading = 76;
inline constexpr int kCellGap = 12;
inline constexpr int kSkipGap = 24;
inline constexpr int kTestGap = 40;
inline constexpr int kPanelBorder = 10;  ///< around the test column
inline constexpr int kLegendGap = 18;
inline constexpr int kLegendLine = 26;
inline constexpr int kLegendTag = 44;
// Inside a cell.
inline constexpr int kFrame = 3;
inline constexpr int kBand = 20;  ///< coloured strip with the id
inline constexpr int kPadding = 7;
inline constexpr int kSampleGap = 5;
inline constexpr int kTickHeight = 15;

inline constexpr TextStyle kTitle{.size = 14, .colour = kInk, .bold = true};
inline constexpr TextStyle kBody{.size = 9, .colour = kSoft};
inline constexpr TextStyle kHeading{.size = 10, .colour = kInk, .bold = true};
inline constexpr TextStyle kTick{.size = 7, .colour = kSoft};

/// Followed by the share that a bar of full height stands for.
inline constexpr std::string_view kHowToRead =
    "frame and number: distribution · below each sample: its label, 3→5 where class 3 is called 5 · bars: share of "
    "each "
    "label, full height ";

/// Whether the bars are far enough apart to be numbered.
[[nodiscard]] constexpr bool shows_label_numbers(int histogram_width, int classes) {
  return histogram_width >= 10 * classes;
}
/// "fmnist · covariate P(X) · medium".
[[nodiscard]] std::string title_line(const Preview& preview);
/// What else there is to know about the scenario.
[[nodiscard]] std::string detail_line(const Preview& preview);
/// The largest share of a label in the preview: the full height of every histogram.
[[nodiscard]] double largest_share(const Preview& preview);

}  // namespace feroma::detail
