#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "feroma/core/archive.h"

namespace feroma::test {

/// One file of a zip; sizes may lie.
struct ZipEntry {
  std::string name;
  Bytes content;
  std::int64_t declared_size = -1;  ///< -1: the truth
};

/// A zip of stored (uncompressed) files; nothing is checked, so it can lie.
inline Bytes zip_bytes(const std::vector<ZipEntry>& entries) {
  Bytes out;
  const auto put = [](Bytes& to, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      to.push_back(static_cast<std::byte>(value >> (8 * i)));
    }
  };
  const auto put_text = [](Bytes& to, const std::string& text) {
    for (const char c : text) {
      to.push_back(static_cast<std::byte>(c));
    }
  };
  Bytes directory;
  for (const ZipEntry& entry : entries) {
    const auto crc =
        crc32(0, reinterpret_cast<const Bytef*>(entry.content.data()), static_cast<uInt>(entry.content.size()));
    const auto size = entry.declared_size < 0 ? entry.content.size() : static_cast<std::size_t>(entry.declared_size);
    const std::size_t offset = out.size();
    const auto common = [&](Bytes& to) {
      put(to, 20, 2);  // version
      put(to, 0, 2);   // flags
      put(to, 0, 2);   // stored
      put(to, 0, 4);   // time and date
      put(to, crc, 4);
      put(to, entry.content.size(), 4);
      put(to, size, 4);
      put(to, entry.name.size(), 2);
      put(to, 0, 2);  // extra field
    };
    put(out, 0x04034b50, 4);
    common(out);
    put_text(out, entry.name);
    out.insert(out.end(), entry.content.begin(), entry.content.end());
    put(directory, 0x02014b50, 4);
    put(directory, 20, 2);
    common(directory);
    put(directory, 0, 2);  // comment
    put(directory, 0, 2);  // disk
    put(directory, 0, 2);  // internal attributes
    put(directory, 0, 4);  // external attributes
    put(directory, offset, 4);
    put_text(directory, entry.name);
  }
  const std::size_t start = out.size();
  out.insert(out.end(), directory.begin(), directory.end());
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, entries.size(), 2);
  put(out, entries.size(), 2);
  put(out, directory.size(), 4);
  put(out, start, 4);
  put(out, 0, 2);
  return out;
}

}  // namespace feroma::test
