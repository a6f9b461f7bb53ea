#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace feroma::detail {

/// Deflate cannot do better than 258 bytes for 2 bits, about 1032 to 1: what a small file declares can be no larger.
inline constexpr std::size_t kBestDeflateRatio = 1032;

/// The uncompressed content of a plain or gzip buffer, read piece by piece so that nobody has to trust its size.
class ByteSource {
 public:
  /// Borrows `bytes`; `name` is the file named in errors.
  ByteSource(std::span<const std::byte> bytes, std::string name);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Fills as much of `out` as there is content; fewer bytes than asked for means the end.
  [[nodiscard]] std::size_t read(std::span<std::uint8_t> out);
  /// An upper bound of the bytes not yet read: exact for plain files, deflate's best ratio for gzip.
  [[nodiscard]] std::size_t most_left() const;
  /// Content bytes read so far.
  [[nodiscard]] std::size_t offset() const { return offset_; }
  /// Throws invalid_data unless the content ends here, with a good gzip checksum and nothing behind it.
  void expect_end();

 private:
  struct Inflater;

  [[nodiscard]] std::size_t inflate_into(std::span<std::uint8_t> out);

  std::span<const std::byte> bytes_;
  std::string name_;
  std::size_t offset_ = 0;
  std::unique_ptr<Inflater> inflater_;  ///< null for a plain file
};

/// The whole content of a plain or gzip buffer, which must have at most `max_bytes`.
[[nodiscard]] std::vector<std::uint8_t> uncompressed(std::span<const std::byte> bytes, const std::string& name,
                                                     std::size_t max_bytes);

}  // namespace feroma::detail
