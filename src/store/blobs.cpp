#include "feroma/store/blobs.h"

#include <fcntl.h>

#include <algorithm>
#include <iterator>

#include "core/posix_file.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigestLength = 64;

bool is_digest(std::string_view text) {
  return text.size() == kDigestLength &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

BlobStore::BlobStore(fs::path folder) : folder_(std::move(folder)) {
  if (!fs::exists(folder_)) {
    return;
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (is_unfinished_write(name)) {
      continue;  // of a writer that was killed
    }
    require(is_digest(name), ErrorCode::invalid_data, "{}: files here must be named after their SHA-256, got {}",
            folder_.string(), name);
    found_.insert(name);
  }
}

void BlobStore::vouch_for(const std::set<std::string>& digests) {
  const std::lock_guard lock(mutex_);
  std::set_intersection(digests.begin(), digests.end(), found_.begin(), found_.end(),
                        std::inserter(trusted_, trusted_.end()));
}

fs::path BlobStore::path_of(const std::string& digest) const {
  require(is_digest(digest), ErrorCode::invalid_data, "{}: a digest has 64 hexadecimal digits, got \"{}\"",
          folder_.string(), digest);
  return folder_ / digest;
}

void BlobStore::make_ready() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(ready_, true)) {
    make_writable_folder(folder_);
    remove_unfinished_writes(folder_);
  }
}

std::string BlobStore::put(std::span<const std::byte> bytes) {
  make_ready();
  std::string digest = sha256(bytes);
  {
    const std::lock_guard lock(mutex_);
    if (trusted_.contains(digest)) {
      return digest;
    }
  }
  const fs::path path = path_of(digest);
  write_file_unsynced(path, bytes);
  const std::lock_guard lock(mutex_);
  found_.insert(digest);
  trusted_.insert(digest);
  unsynced_.push_back(path);
  return digest;
}

void BlobStore::sync() {
  std::vector<fs::path> paths;
  {
    const std::lock_guard lock(mutex_);
    paths = std::exchange(unsynced_, {});
  }
  // The disk has been at it since they were written, so waiting for all of them takes hardly longer than for one.
  for (const fs::path& path : paths) {
    detail::PosixFile(path, O_RDONLY).sync();
  }
  detail::sync_folder(folder_);
}

Bytes BlobStore::get(const std::string& digest) const {
  require(fs::exists(path_of(digest)), ErrorCode::invalid_data, "{}: is missing", path_of(digest).string());
  Bytes bytes = read_file(path_of(digest));
  const std::string found = sha256(bytes);
  require(found == digest, ErrorCode::invalid_data,
          "{}: is damaged: its SHA-256 is {}; restore it from a backup (a file of this name is the right one)",
          path_of(digest).string(), found);
  return bytes;
}

void BlobStore::keep_only(const std::set<std::string>& digests) {
  const std::lock_guard lock(mutex_);
  std::erase_if(trusted_, [&](const std::string& name) { return !digests.contains(name); });
  for (auto it = found_.begin(); it != found_.end();) {
    if (digests.contains(*it)) {
      ++it;
      continue;
    }
    std::error_code error;
    fs::remove(folder_ / *it, error);
    require(!error, ErrorCode::io, "{}: cannot remove: {}", (folder_ / *it).string(), error.message());
    it = found_.erase(it);
  }
}

std::set<std::string> BlobStore::list() const {
  const std::lock_guard lock(mutex_);
  return found_;
}

}  // namespace feroma
