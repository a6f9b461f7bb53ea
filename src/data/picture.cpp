#include "feroma/data/picture.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "feroma/core/error.h"
#include "feroma/core/files.h"

namespace feroma {
namespace {

/// How much of the old samples from `first` on goes into one new sample.
struct Blend {
  std::size_t first = 0;
  std::vector<double> weights;
};

/// One blend per new sample along an axis; weights add to 1.
std::vector<Blend> blends(int from, int to) {
  const double step = static_cast<double>(from) / to;
  std::vector<Blend> out(static_cast<std::size_t>(to));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (step >= 1) {
      // The new sample covers begin..end of the old axis.
      const double begin = static_cast<double>(i) * step;
      const double end = std::min(begin + step, static_cast<double>(from));
      out[i].first = static_cast<std::size_t>(begin);
      for (double at = std::floor(begin); at < end; ++at) {
        const double covered = std::min(at + 1, end) - std::max(at, begin);
        out[i].weights.push_back(covered / step);
      }
    } else {
      // Centres are aligned; beyond the first and last centre the edge value holds.
      const double centre = std::clamp((static_cast<double>(i) + 0.5) * step - 0.5, 0.0, static_cast<double>(from - 1));
      const double below = std::min(std::floor(centre), static_cast<double>(std::max(from - 2, 0)));
      out[i].first = static_cast<std::size_t>(below);
      out[i].weights.push_back(1 - (centre - below));
      if (from > 1) {
        out[i].weights.push_back(centre - below);
      }
    }
    // Rounding of i * step may reach one sample too far.
    out[i].weights.resize(std::min(out[i].weights.size(), static_cast<std::size_t>(from) - out[i].first));
  }
  return out;
}

std::uint8_t to_byte(double value) { return static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L)); }

}  // namespace

Picture decode_picture(std::span<const std::byte> bytes, const std::string& name) {
  const auto starts_with = [&](std::initializer_list<int> magic) {
    return bytes.size() >= magic.size() &&
           std::equal(magic.begin(), magic.end(), bytes.begin(),
                      [](int want, std::byte got) { return want == std::to_integer<int>(got); });
  };
  if (starts_with({0x89, 'P', 'N', 'G'})) {
    return decode_png(bytes, name);
  }
  require(starts_with({0xff, 0xd8}), ErrorCode::invalid_data,
          "[picture] {}: must start with the magic of PNG or JPEG at offset 0, got neither", name);
  return decode_jpeg(bytes, name);
}

bool is_picture_name(const std::filesystem::path& path) {
  std::string suffix = path.extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return suffix == ".png" || suffix == ".jpg" || suffix == ".jpeg";
}

Picture with_channels(Picture picture, int channels) {
  if (picture.channels == channels) {
    return picture;
  }
  Picture out{.width = picture.width, .height = picture.height, .channels = channels, .pixels = {}};
  if (channels == 3) {
    out.pixels.reserve(3 * picture.pixels.size());
    for (const std::uint8_t gray : picture.pixels) {
      out.pixels.insert(out.pixels.end(), 3, gray);
    }
    return out;
  }
  out.pixels.reserve(picture.pixels.size() / 3);
  for (std::size_t i = 0; i + 2 < picture.pixels.size(); i += 3) {
    // 0.299, 0.587 and 0.114 in units of 2^-16, rounded; they add to 2^16.
    const std::uint32_t luma =
        19595U * picture.pixels[i] + 38470U * picture.pixels[i + 1] + 7471U * picture.pixels[i + 2] + 0x8000U;
    out.pixels.push_back(static_cast<std::uint8_t>(luma >> 16));
  }
  return out;
}

Picture resized(const Picture& picture, int width, int height) {
  if (picture.width == width && picture.height == height) {
    return picture;
  }
  const auto channels = static_cast<std::size_t>(picture.channels);
  const auto old_row = static_cast<std::size_t>(picture.width) * channels;
  const std::vector<Blend> columns = blends(picture.width, width);
  const std::vector<Blend> rows = blends(picture.height, height);
  Picture out{.width = width, .height = height, .channels = picture.channels, .pixels = {}};
  out.pixels.reserve(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * channels);
  std::vector<double> line(old_row);
  for (const Blend& row : rows) {
    std::fill(line.begin(), line.end(), 0.0);
    for (std::size_t k = 0; k < row.weights.size(); ++k) {
      const std::uint8_t* source = picture.pixels.data() + (row.first + k) * old_row;
      for (std::size_t i = 0; i < old_row; ++i) {
        line[i] += row.weights[k] * source[i];
      }
    }
    for (const Blend& column : columns) {
      for (std::size_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (std::size_t k = 0; k < column.weights.size(); ++k) {
          sum += column.weights[k] * line[(column.first + k) * channels + c];
        }
        out.pixels.push_back(to_byte(sum));
      }
    }
  }
  return out;
}

void append_planar_(std::vector<std::uint8_t>& out, const Picture& picture) {
  const auto channels = static_cast<std::size_t>(picture.channels);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = c; i < picture.pixels.size(); i += channels) {
      out.push_back(picture.pixels[i]);
    }
  }
}

void append_picture_file_(std::vector<std::uint8_t>& out, const std::filesystem::path& path, int channels, int width,
                          int height) {
  const Picture picture = with_channels(decode_picture(read_file(path), path.string()), channels);
  append_planar_(out, resized(picture, width, height));
}

}  // namespace feroma
