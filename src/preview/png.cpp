#include "feroma/preview/png.h"

#include <png.h>

#include "feroma/core/error.h"

namespace feroma {

Bytes encode_png(const Canvas& canvas) {
  static_assert(sizeof(Rgb) == 3, "libpng reads the pixels as they lie");
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(canvas.width());
  image.height = static_cast<png_uint_32>(canvas.height());
  image.format = PNG_FORMAT_RGB;
  Bytes bytes(PNG_IMAGE_PNG_SIZE_MAX(image));
  png_alloc_size_t size = bytes.size();
  const int done = png_image_write_to_memory(&image, bytes.data(), &size, /*convert_to_8_bit=*/0,
                                             canvas.pixels().data(), /*row_stride=*/0, /*colormap=*/nullptr);
  require(done != 0, ErrorCode::internal, "[png] {} x {} pixels must be written, got: {}", canvas.width(),
          canvas.height(), static_cast<const char*>(image.message));
  bytes.resize(size);
  return bytes;
}

}  // namespace feroma
