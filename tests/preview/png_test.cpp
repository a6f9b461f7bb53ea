#include "feroma/preview/png.h"

#include <gtest/gtest.h>
#include <png.h>

#include <vector>

namespace feroma {
namespace {

std::vector<Rgb> decode(const Bytes& bytes, int& width, int& height) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) {
    ADD_FAILURE() << static_cast<const char*>(image.message);
    return {};
  }
  image.format = PNG_FORMAT_RGB;
  width = static_cast<int>(image.width);
  height = static_cast<int>(image.height);
  std::vector<Rgb> pixels(static_cast<std::size_t>(width * height));
  EXPECT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr), 0);
  return pixels;
}

TEST(Png, ReadsBackPixelByPixel) {
  Canvas canvas(17, 5, {255, 255, 255});
  for (int i = 0; i < 17 * 5; ++i) {
    canvas.blend_(i % 17, i / 17, {static_cast<std::uint8_t>(i * 3), static_cast<std::uint8_t>(255 - i), 7});
  }
  int width = 0;
  int height = 0;
  const std::vector<Rgb> pixels = decode(encode_png(canvas), width, height);
  EXPECT_EQ(width, 17);
  EXPECT_EQ(height, 5);
  EXPECT_EQ(pixels, std::vector<Rgb>(canvas.pixels().begin(), canvas.pixels().end()));
}

TEST(Png, HasTheSameBytesEveryTime) {
  const Canvas canvas(40, 30, {10, 20, 30});
  EXPECT_EQ(encode_png(canvas), encode_png(canvas));
}

}  // namespace
}  // namespace feroma
