#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace feroma {

/// What says how far values spread around their mean.
enum class SpreadKind { deviation, variance };
constexpr auto enum_names(SpreadKind) {
  using enum SpreadKind;
  return std::array<std::pair<SpreadKind, std::string_view>, 2>{{{deviation, "deviation"}, {variance, "variance"}}};
}

/// Mean and population standard deviation of every coordinate.
struct Moments {
  std::vector<float> mean;
  std::vector<float> std;  ///< the variance where that was asked for
  friend bool operator==(const Moments&, const Moments&) = default;
};

/// Rows of equal width, row-major; what an encoder makes of a client's samples.
struct Rows {
  int width = 0;
  std::vector<float> values;

  [[nodiscard]] std::size_t count() const { return width == 0 ? 0 : values.size() / static_cast<std::size_t>(width); }
  [[nodiscard]] std::span<const float> row(std::size_t i) const {
    return std::span(values).subspan(i * static_cast<std::size_t>(width), static_cast<std::size_t>(width));
  }
};

/// Moments of the rows listed in `which`, which may repeat; sums run in that order, in double.
[[nodiscard]] Moments moments_of(const Rows& rows, std::span<const std::uint32_t> which,
                                 SpreadKind spread = SpreadKind::deviation);
/// Coordinate-wise average of several moments.
[[nodiscard]] Moments average(std::span<const Moments> moments);
/// 2-Wasserstein distance between the diagonal Gaussians with these moments: the Euclidean distance of [mean, std].
[[nodiscard]] double wasserstein2(const Moments& a, const Moments& b);

}  // namespace feroma
