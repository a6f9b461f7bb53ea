#include "feroma/data/npz.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <memory>

#include "data/byte_source.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"

namespace feroma {
namespace {

constexpr std::size_t kMaxArrays = 1024;
constexpr std::string_view kSuffix = ".npy";

using ArchivePtr = std::unique_ptr<archive, decltype(&archive_read_free)>;

std::string complaint(archive* zip) {
  const char* text = archive_error_string(zip);
  return text == nullptr ? "unknown damage" : text;
}

ArchivePtr open_zip(std::span<const std::byte> bytes, const std::string& name) {
  constexpr std::string_view kMagic = "PK";
  require(bytes.size() >= 4 && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0, ErrorCode::invalid_data,
          "[npz] {}: must start with the zip magic PK at offset 0, got something else", name);
  ArchivePtr zip(archive_read_new(), archive_read_free);
  require(zip != nullptr, ErrorCode::internal, "[npz] libarchive did not start");
  // The seeking reader trusts the central directory, as NumPy does, and no other format is enabled.
  archive_read_support_format_zip_seekable(zip.get());
  require(archive_read_open_memory(zip.get(), bytes.data(), bytes.size()) == ARCHIVE_OK, ErrorCode::invalid_data,
          "[npz] {}: must be a zip file, got: {}", name, complaint(zip.get()));
  return zip;
}

/// The array's name: that of a file in no folder, without the suffix.
std::string array_name(archive_entry* entry, const std::string& name) {
  const char* path = archive_entry_pathname(entry);
  const std::string_view file = path == nullptr ? "" : path;
  require(is_file_name(file), ErrorCode::invalid_data,
          "[npz] {}: names must be plain file names without folders, got \"{}\"", name, file);
  require(file.ends_with(kSuffix) && file.size() > kSuffix.size(), ErrorCode::invalid_data,
          "[npz] {}: names must end in .npy, got \"{}\"", name, file);
  require(archive_entry_filetype(entry) == AE_IFREG, ErrorCode::invalid_data,
          "[npz] {}: \"{}\" must be a regular file, got a folder or link", name, file);
  return std::string(file.substr(0, file.size() - kSuffix.size()));
}

Bytes read_entry(archive* zip, std::size_t declared, const std::string& name) {
  Bytes content(declared);
  std::size_t done = 0;
  while (done < declared) {
    const la_ssize_t got = archive_read_data(zip, content.data() + done, declared - done);
    require(got >= 0, ErrorCode::invalid_data, "[npz] {}: the content must be intact, got '{}' at offset {}", name,
            complaint(zip), done);
    if (got == 0) {
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  std::byte extra{};
  const la_ssize_t more = done < declared ? 0 : archive_read_data(zip, &extra, 1);
  require(more >= 0, ErrorCode::invalid_data, "[npz] {}: the content must be intact, got '{}' at its end", name,
          complaint(zip));
  require(done == declared && more == 0, ErrorCode::invalid_data, "[npz] {}: must have the declared {} bytes, got {}",
          name, declared, more > 0 ? "more" : std::to_string(done));
  return content;
}

}  // namespace

std::map<std::string, NpyArray> parse_npz(std::span<const std::byte> bytes, const std::string& name) {
  const ArchivePtr zip = open_zip(bytes, name);
  std::map<std::string, NpyArray> arrays;
  const std::size_t most = std::min(kMaxNpzBytes, bytes.size() * detail::kBestDeflateRatio);
  std::size_t total = 0;
  while (true) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(zip.get(), &entry);
    if (status == ARCHIVE_EOF) {
      break;
    }
    require(status == ARCHIVE_OK, ErrorCode::invalid_data, "[npz] {}: the zip directory must be intact, got: {}", name,
            complaint(zip.get()));
    const std::string array = array_name(entry, name);
    const std::string place = fmt::format("{}({})", name, array);
    require(arrays.size() < kMaxArrays, ErrorCode::invalid_data, "[npz] {}: at most {} arrays, got more", name,
            kMaxArrays);
    require(!arrays.contains(array), ErrorCode::invalid_data, "[npz] {}: names must differ, got \"{}\" twice", name,
            array);
    const auto declared = archive_entry_size_is_set(entry) != 0 ? archive_entry_size(entry) : la_int64_t{-1};
    require(declared >= 0 && static_cast<std::uint64_t>(declared) <= most - total, ErrorCode::invalid_data,
            "[npz] {}: all arrays of a file of {} bytes must fit in {} bytes, got {} more after {}", place,
            bytes.size(), most, declared, total);
    total += static_cast<std::size_t>(declared);
    arrays.emplace(array, parse_npy(read_entry(zip.get(), static_cast<std::size_t>(declared), place), place));
  }
  require(!arrays.empty(), ErrorCode::invalid_data, "[npz] {}: must hold at least one array, got none", name);
  return arrays;
}

std::map<std::string, NpyArray> read_npz(const std::filesystem::path& path) {
  return parse_npz(read_file(path), path.string());
}

}  // namespace feroma
