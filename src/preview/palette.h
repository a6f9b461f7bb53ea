#pragma once

#include <array>

#include "feroma/preview/canvas.h"

namespace feroma::detail {

inline constexpr Rgb kPaper{255, 255, 255};
inline constexpr Rgb kInk{20, 24, 31};
inline constexpr Rgb kSoft{86, 94, 108};
inline constexpr Rgb kLine{214, 218, 225};
inline constexpr Rgb kPanel{238, 240, 244};

/// How a distribution looks: ids share a colour only if their dashes differ.
struct IdMark {
  Rgb colour;
  int dash = 0;  ///< pixels per dash of the frame; 0 is a solid one
};

/// Okabe and Ito's colours, which people with any kind of colour blindness can tell apart; yellow comes late and black
/// is left out because text uses it.
inline constexpr std::array<Rgb, 8> kColours{{{0, 114, 178},
                                              {230, 159, 0},
                                              {0, 158, 115},
                                              {204, 121, 167},
                                              {213, 94, 0},
                                              {86, 180, 233},
                                              {128, 128, 128},
                                              {240, 228, 66}}};

[[nodiscard]] constexpr IdMark mark_of(int id) {
  constexpr std::array<int, 4> kDashes{0, 12, 6, 3};
  const auto count = kColours.size();
  const auto index = static_cast<std::size_t>(id > 0 ? id - 1 : 0);
  return {kColours[index % count], kDashes[index / count % kDashes.size()]};
}

/// Black or white, whichever is easier to read on `ground`.
[[nodiscard]] constexpr Rgb text_on(Rgb ground) {
  const int luma = 299 * ground.r + 587 * ground.g + 114 * ground.b;
  return luma > 140'000 ? kInk : kPaper;
}

}  // namespace feroma::detail
