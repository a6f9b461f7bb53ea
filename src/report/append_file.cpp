#include "report/append_file.h"

#include <fcntl.h>

#include <span>

namespace feroma::detail {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

}  // namespace

AppendFile::AppendFile(const std::filesystem::path& path, bool create)
    : path_(path), file_(path, O_WRONLY | O_APPEND | (create ? O_CREAT | O_TRUNC : 0)) {}

void AppendFile::append(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= kBufferBytes) {
    write_buffer();
  }
}

std::uint64_t AppendFile::flush() {
  write_buffer();
  file_.sync();
  return file_.size();
}

void AppendFile::truncate_to(std::uint64_t size) {
  buffer_.clear();
  file_.truncate(size);
  digest_ = digest_of_first(path_, size);
  size_ = size;
}

void AppendFile::write_buffer() {
  const auto bytes = std::as_bytes(std::span(buffer_));
  file_.write_all(bytes);
  digest_.add(bytes);
  size_ += bytes.size();
  buffer_.clear();
}

}  // namespace feroma::detail
