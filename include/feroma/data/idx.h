#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "feroma/core/batch.h"
#include "feroma/data/dataset.h"

namespace feroma {

/// The most values an IDX header may declare: 1 GiB, about twenty times MNIST.
inline constexpr std::size_t kMaxIdxValues = std::size_t{1} << 30;

/// A validated IDX file of unsigned bytes, uncompressed.
struct IdxFile {
  std::vector<std::uint32_t> dims;
  std::vector<std::uint8_t> content;  ///< the whole file, header included

  [[nodiscard]] std::size_t header_size() const { return 4 + 4 * dims.size(); }
  [[nodiscard]] std::span<const std::uint8_t> values() const { return std::span(content).subspan(header_size()); }
};

/**
 * Parses an IDX file, plain or gzip (told apart by content). The header is read first, and nothing larger than it
 * declares is ever inflated or allocated. `expected_dims`, where given, are what the header must declare. Errors are
 * invalid_data and name the file, the rule and the offset in the uncompressed content.
 */
[[nodiscard]] IdxFile parse_idx(std::span<const std::byte> bytes, const std::string& name,
                                std::span<const std::uint32_t> expected_dims = {});

/// Reads a pair of image and label files into samples; counts must agree, pictures must have `shape`, and labels
/// must be below `classes`.
[[nodiscard]] Samples read_idx_samples(const std::filesystem::path& images, const std::filesystem::path& labels,
                                       SampleShape shape, int classes);

}  // namespace feroma
