#include "data/byte_source.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "feroma/core/error.h"

namespace feroma::detail {
namespace {

/// Bit 4 makes zlib expect a gzip header and verify its trailer.
constexpr int kGzipWindowBits = MAX_WBITS + 16;

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

}  // namespace

struct ByteSource::Inflater {
  z_stream stream{};
  bool ended = false;

  Inflater() {
    require(inflateInit2(&stream, kGzipWindowBits) == Z_OK, ErrorCode::internal, "[gzip] zlib did not start");
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

ByteSource::ByteSource(std::span<const std::byte> bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {
  if (!is_gzip(bytes)) {
    return;
  }
  require(bytes.size() <= std::numeric_limits<uInt>::max(), ErrorCode::invalid_data,
          "[gzip] {}: a compressed file must be smaller than 4 GiB, got {} bytes", name_, bytes.size());
  inflater_ = std::make_unique<Inflater>();
  // zlib's interface is not const-correct; it only reads its input.
  inflater_->stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  inflater_->stream.avail_in = static_cast<uInt>(bytes.size());
}

ByteSource::~ByteSource() = default;

std::size_t ByteSource::inflate_into(std::span<std::uint8_t> out) {
  z_stream& stream = inflater_->stream;
  std::size_t done = 0;
  while (done < out.size() && !inflater_->ended) {
    const std::size_t piece = std::min<std::size_t>(out.size() - done, std::numeric_limits<uInt>::max());
    stream.next_out = out.data() + done;
    stream.avail_out = static_cast<uInt>(piece);
    const int status = inflate(&stream, Z_NO_FLUSH);
    done += piece - stream.avail_out;
    inflater_->ended = status == Z_STREAM_END;
    // Z_BUF_ERROR is zlib's word for "no more input": the caller sees a short read.
    if (status == Z_BUF_ERROR) {
      break;
    }
    require(status == Z_OK || status == Z_STREAM_END, ErrorCode::invalid_data,
            "[gzip] {}: compressed data must be intact, got '{}' after {} bytes of content", name_,
            stream.msg == nullptr ? "unknown damage" : stream.msg, offset_ + done);
  }
  return done;
}

std::size_t ByteSource::read(std::span<std::uint8_t> out) {
  std::size_t done = 0;
  if (inflater_) {
    done = inflate_into(out);
  } else {
    done = std::min(out.size(), bytes_.size() - offset_);
    if (done > 0) {
      std::memcpy(out.data(), bytes_.data() + offset_, done);
    }
  }
  offset_ += done;
  return done;
}

std::size_t ByteSource::most_left() const {
  const std::size_t most = inflater_ ? bytes_.size() * kBestDeflateRatio : bytes_.size();
  return most - std::min(most, offset_);
}

void ByteSource::expect_end() {
  const std::size_t end = offset_;
  std::array<std::uint8_t, 1> extra{};
  require(read(extra) == 0, ErrorCode::invalid_data, "[file] {}: the file must end after {} bytes, got trailing bytes",
          name_, end);
  if (inflater_) {
    require(inflater_->ended, ErrorCode::invalid_data,
            "[gzip] {}: the gzip trailer must be complete, got {} bytes of file", name_, bytes_.size());
    require(inflater_->stream.avail_in == 0, ErrorCode::invalid_data,
            "[gzip] {}: the file must end with its gzip stream, got {} trailing bytes", name_,
            inflater_->stream.avail_in);
  }
}

std::vector<std::uint8_t> uncompressed(std::span<const std::byte> bytes, const std::string& name,
                                       std::size_t max_bytes) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  ByteSource source(bytes, name);
  std::vector<std::uint8_t> content;
  while (true) {
    const std::size_t before = content.size();
    content.resize(before + std::min(kPiece, std::max<std::size_t>(source.most_left(), 1)));
    const std::size_t got = source.read(std::span(content).subspan(before));
    content.resize(before + got);
    require(content.size() <= max_bytes, ErrorCode::invalid_data, "[file] {}: must hold at most {} bytes, got more",
            name, max_bytes);
    if (got == 0) {
      break;
    }
  }
  source.expect_end();
  return content;
}

}  // namespace feroma::detail
