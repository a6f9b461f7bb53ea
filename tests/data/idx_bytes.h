#pragma once

#include <zlib.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "feroma/core/archive.h"

namespace feroma::test {

/// Bytes of an IDX file with the given header fields; nothing is checked, so it can lie.
inline Bytes idx_bytes(const std::vector<std::uint32_t>& dims, const std::vector<std::uint8_t>& values) {
  Bytes bytes{std::byte{0}, std::byte{0}, std::byte{8}, static_cast<std::byte>(dims.size())};
  for (const std::uint32_t dim : dims) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<std::byte>(dim >> shift));
    }
  }
  for (const std::uint8_t value : values) {
    bytes.push_back(std::byte{value});
  }
  return bytes;
}

/// A gzip member of the bytes.
inline Bytes gzip(const Bytes& bytes) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  Bytes out(deflateBound(&stream, bytes.size()) + 64);
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace feroma::test
