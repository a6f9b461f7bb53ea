#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "feroma/core/batch.h"

namespace feroma {

/**
 * Gives pictures the look of others and leaves them their content: the amplitudes of a picture's Fourier transform are
 * drawn towards a partner's, its phases stay (amplitude mix, Xu et al., CVPR 2021). Channels are taken one by one.
 */
class AmplitudeMix {
 public:
  explicit AmplitudeMix(SampleShape shape);

  /// Picture i [channel][row][column] with (1 - shares[i]) of its own amplitudes and shares[i] of picture
  /// partners[i]'s; what leaves the range of all pictures is cut off.
  [[nodiscard]] std::vector<float> operator()(std::span<const float> pictures, std::span<const std::uint32_t> partners,
                                              std::span<const double> shares) const;

 private:
  [[nodiscard]] std::vector<float> spectrum(std::span<const float> planes) const;
  [[nodiscard]] std::vector<float> planes(std::span<const float> spectrum) const;

  std::size_t height_;
  std::size_t width_;
  std::size_t kept_;              ///< columns of a spectrum: the rest mirrors them
  std::vector<float> rows_;       ///< width x 2 kept: cosines, then negative sines
  std::vector<float> rows_back_;  ///< 2 kept x width
  std::vector<float> columns_;    ///< 2 height x 2 height: a complex transform of real and imaginary parts
  std::vector<float> columns_back_;
};

}  // namespace feroma
