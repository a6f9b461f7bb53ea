#include <png.h>

#include <cstring>

#include "data/byte_source.h"
#include "feroma/core/error.h"
#include "feroma/data/picture.h"

namespace feroma {
namespace {

/// libpng's own record of a picture being read; freed on every way out.
class PngReader {
 public:
  PngReader() {
    std::memset(&image_, 0, sizeof image_);
    image_.version = PNG_IMAGE_VERSION;
  }
  ~PngReader() { png_image_free(&image_); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  [[nodiscard]] png_image& get() { return image_; }

 private:
  png_image image_;
};

}  // namespace

Picture decode_png(std::span<const std::byte> bytes, const std::string& name) {
  PngReader reader;
  png_image& image = reader.get();
  require(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) != 0, ErrorCode::invalid_data,
          "[png] {}: the header must be intact, got: {}", name, image.message);
  const std::size_t pixels = std::size_t{image.width} * image.height;
  require(pixels >= 1 && image.width <= kMaxPicturePixels && pixels <= kMaxPicturePixels, ErrorCode::invalid_data,
          "[png] {}: the size at offset 16 must be at most {} pixels, got {} x {}", name, kMaxPicturePixels,
          image.width, image.height);
  // A bit per pixel is the least that a PNG holds before it is packed.
  require(pixels / 8 <= bytes.size() * detail::kBestDeflateRatio, ErrorCode::invalid_data,
          "[png] {}: {} x {} pixels must fit in the file, got only {} bytes", name, image.width, image.height,
          bytes.size());
  const bool colour = (image.format & PNG_FORMAT_FLAG_COLOR) != 0;
  image.format = colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  Picture picture{.width = static_cast<int>(image.width),
                  .height = static_cast<int>(image.height),
                  .channels = colour ? 3 : 1,
                  .pixels = {}};
  // Zeros: transparent parts are laid over black.
  picture.pixels.resize(PNG_IMAGE_SIZE(image));
  require(png_image_finish_read(&image, nullptr, picture.pixels.data(), 0, nullptr) != 0, ErrorCode::invalid_data,
          "[png] {}: the picture must be complete and intact, got: {}", name, image.message);
  return picture;
}

}  // namespace feroma
