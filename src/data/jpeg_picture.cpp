#include <csetjmp>
#include <cstdio>
// jpeglib.h needs size_t and FILE first.
#include <jpeglib.h>
// jerror.h gives names to what the library complains about.
#include <jerror.h>

#include <array>

#include "feroma/core/error.h"
#include "feroma/data/picture.h"

namespace feroma {
namespace {

/// A progressive file may repaint the picture; hundreds of times is an attack on the reader's patience.
constexpr int kMaxScans = 100;

/// libjpeg's error record with a way back: its handlers must not return, and C++ must not throw through C.
struct JpegErrors {
  jpeg_error_mgr base;  // first, so that libjpeg's pointer is also ours
  std::jmp_buf way_back;
  std::array<char, JMSG_LENGTH_MAX> message;
};

JpegErrors& errors_of(j_common_ptr jpeg) { return *reinterpret_cast<JpegErrors*>(jpeg->err); }

[[noreturn]] void give_up(j_common_ptr jpeg) {
  JpegErrors& errors = errors_of(jpeg);
  jpeg->err->format_message(jpeg, errors.message.data());
  std::longjmp(errors.way_back, 1);
}

/// Warnings that mean a part of the picture is missing end the reading; the others are harmless.
void on_message(j_common_ptr jpeg, int level) {
  const int code = jpeg->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE)) {
    give_up(jpeg);
  }
}

void on_progress(j_common_ptr jpeg) {
  const auto* decoder = reinterpret_cast<j_decompress_ptr>(jpeg);
  if (decoder->input_scan_number > kMaxScans) {
    jpeg->err->msg_code = JERR_BAD_PROGRESSION;
    give_up(jpeg);
  }
}

struct JpegReader {
  jpeg_decompress_struct decoder;
  jpeg_progress_mgr progress;
  JpegErrors errors;
};

/// Everything that may jump lies in functions without C++ objects; false means that errors.message says why.
bool read_header(JpegReader& reader, const unsigned char* data, unsigned long size) {
  if (setjmp(reader.errors.way_back) != 0) {
    return false;
  }
  jpeg_create_decompress(&reader.decoder);
  reader.decoder.progress = &reader.progress;
  jpeg_mem_src(&reader.decoder, data, size);
  jpeg_read_header(&reader.decoder, TRUE);
  return true;
}

bool read_rows(JpegReader& reader, J_COLOR_SPACE colours, unsigned char* pixels, std::size_t row_bytes) {
  if (setjmp(reader.errors.way_back) != 0) {
    return false;
  }
  reader.decoder.out_color_space = colours;
  reader.decoder.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&reader.decoder);
  while (reader.decoder.output_scanline < reader.decoder.output_height) {
    JSAMPROW row = pixels + reader.decoder.output_scanline * row_bytes;
    jpeg_read_scanlines(&reader.decoder, &row, 1);
  }
  jpeg_finish_decompress(&reader.decoder);
  return true;
}

/// Frees the decoder on every way out.
class JpegCleanup {
 public:
  explicit JpegCleanup(JpegReader& reader) : reader_(reader) {}
  ~JpegCleanup() { jpeg_destroy_decompress(&reader_.decoder); }
  JpegCleanup(const JpegCleanup&) = delete;
  JpegCleanup& operator=(const JpegCleanup&) = delete;

 private:
  JpegReader& reader_;
};

}  // namespace

Picture decode_jpeg(std::span<const std::byte> bytes, const std::string& name) {
  JpegReader reader{};
  reader.decoder.err = jpeg_std_error(&reader.errors.base);
  reader.errors.base.error_exit = give_up;
  reader.errors.base.emit_message = on_message;
  reader.progress.progress_monitor = on_progress;
  const JpegCleanup cleanup(reader);
  require(!bytes.empty() && read_header(reader, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()),
          ErrorCode::invalid_data, "[jpeg] {}: the header must be intact, got: {}", name,
          bytes.empty() ? "an empty file" : reader.errors.message.data());
  const std::size_t width = reader.decoder.image_width;
  const std::size_t height = reader.decoder.image_height;
  require(width >= 1 && height >= 1 && width * height <= kMaxPicturePixels, ErrorCode::invalid_data,
          "[jpeg] {}: the size must be at most {} pixels, got {} x {}", name, kMaxPicturePixels, width, height);
  const J_COLOR_SPACE stored = reader.decoder.jpeg_color_space;
  require(stored == JCS_GRAYSCALE || stored == JCS_YCbCr || stored == JCS_RGB, ErrorCode::invalid_data,
          "[jpeg] {}: must be gray or RGB, got {} colour components", name, reader.decoder.num_components);
  const bool gray = stored == JCS_GRAYSCALE;
  Picture picture{
      .width = static_cast<int>(width), .height = static_cast<int>(height), .channels = gray ? 1 : 3, .pixels = {}};
  const std::size_t row_bytes = width * static_cast<std::size_t>(picture.channels);
  picture.pixels.resize(row_bytes * height);
  require(read_rows(reader, gray ? JCS_GRAYSCALE : JCS_RGB, picture.pixels.data(), row_bytes), ErrorCode::invalid_data,
          "[jpeg] {}: the picture must be complete and intact, got: {} at row {}", name, reader.errors.message.data(),
          reader.decoder.output_scanline);
  return picture;
}

}  // namespace feroma
