#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace feroma {

/// The most pixels a picture may declare: 32 Mi, larger than any camera's and than any published sheet we read.
inline constexpr std::size_t kMaxPicturePixels = std::size_t{1} << 25;

/// An 8-bit picture, gray or RGB, pixel by pixel and row by row.
struct Picture {
  int width = 0;
  int height = 0;
  int channels = 1;                  ///< 1 gray, 3 RGB
  std::vector<std::uint8_t> pixels;  ///< height x width x channels
};

/// Decodes a PNG or JPEG; size limits are tested before memory is taken. Errors are invalid_data and name the file.
[[nodiscard]] Picture decode_png(std::span<const std::byte> bytes, const std::string& name);
[[nodiscard]] Picture decode_jpeg(std::span<const std::byte> bytes, const std::string& name);
/// Either of them, told apart by content.
[[nodiscard]] Picture decode_picture(std::span<const std::byte> bytes, const std::string& name);

/// Whether a file name ends like a picture's: .png, .jpg or .jpeg, in any case.
[[nodiscard]] bool is_picture_name(const std::filesystem::path& path);
/// Gray by the luma weights of BT.601, or RGB with equal channels.
[[nodiscard]] Picture with_channels(Picture picture, int channels);
/// Averages areas along an axis that shrinks, interpolates linearly along one that grows; the same size is a copy.
[[nodiscard]] Picture resized(const Picture& picture, int width, int height);
/// Appends the picture channel by channel, as samples are stored.
void append_planar_(std::vector<std::uint8_t>& out, const Picture& picture);

/// Reads a picture file, converts and resizes it, and appends it channel by channel.
void append_picture_file_(std::vector<std::uint8_t>& out, const std::filesystem::path& path, int channels, int width,
                          int height);

}  // namespace feroma
