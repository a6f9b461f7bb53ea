#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "feroma/core/archive.h"

namespace feroma::test {

inline void put_big_endian(Bytes& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    out.push_back(static_cast<std::byte>(value >> shift));
  }
}

inline void put_png_chunk(Bytes& out, const std::string& type, const Bytes& data) {
  put_big_endian(out, static_cast<std::uint32_t>(data.size()));
  Bytes body;
  for (const char c : type) {
    body.push_back(static_cast<std::byte>(c));
  }
  body.insert(body.end(), data.begin(), data.end());
  out.insert(out.end(), body.begin(), body.end());
  put_big_endian(out, static_cast<std::uint32_t>(
                          crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()))));
}

/// An 8-bit PNG, gray (1 channel) or RGB (3), of the given pixels; the header may lie about the size.
inline Bytes png_bytes(std::uint32_t width, std::uint32_t height, int channels,
                       const std::vector<std::uint8_t>& pixels) {
  Bytes out;
  for (const int c : {0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a}) {
    out.push_back(static_cast<std::byte>(c));
  }
  Bytes header;
  put_big_endian(header, width);
  put_big_endian(header, height);
  for (const int c : {8, channels == 3 ? 2 : 0, 0, 0, 0}) {
    header.push_back(static_cast<std::byte>(c));
  }
  put_png_chunk(out, "IHDR", header);
  std::vector<std::uint8_t> raw;
  const std::size_t row = std::size_t{width} * static_cast<std::size_t>(channels);
  for (std::size_t at = 0; at < pixels.size(); ++at) {
    if (at % row == 0) {
      raw.push_back(0);  // no filter
    }
    raw.push_back(pixels[at]);
  }
  uLongf size = compressBound(raw.size());
  Bytes packed(size);
  compress(reinterpret_cast<Bytef*>(packed.data()), &size, raw.data(), raw.size());
  packed.resize(size);
  put_png_chunk(out, "IDAT", packed);
  put_png_chunk(out, "IEND", {});
  return out;
}

/// A PNG of one gray value.
inline Bytes flat_png(std::uint32_t side, std::uint8_t value) {
  return png_bytes(side, side, 1, std::vector<std::uint8_t>(std::size_t{side} * side, value));
}

}  // namespace feroma::test
