#include "tests/faults/durable_files.h"

#include <sys/stat.h>

#include <fstream>
#include <iterator>

namespace feroma::faults {
namespace {

namespace fs = std::filesystem;

/// Read and written with streams: the product's own calls are being watched.
Bytes content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void write(const fs::path& path, const Bytes& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::uint64_t inode_of(const fs::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

/// SQLite's files are not opened by the calls that are watched, and may have the number of a file that was.
bool is_unwatched(const fs::path& path) { return path.filename().string().starts_with("store.db"); }

fs::path path_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

}  // namespace

DurableFiles::DurableFiles(fs::path root) : root_(fs::absolute(std::move(root)).lexically_normal()) {
  if (!fs::exists(root_)) {
    return;
  }
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root_)) {
    if (entry.is_regular_file()) {
      contents_[inode_of(entry.path())] = std::make_shared<Content>(Content{content_of(entry.path())});
    }
  }
  remember(root_.parent_path());
  remember(root_);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root_)) {
    if (entry.is_directory()) {
      remember(entry.path());
    }
  }
}

DurableFiles::Names DurableFiles::names_in(const fs::path& folder) const {
  Names names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    Entry& known = names[entry.path().filename().string()];
    known.is_folder = entry.is_directory();
    const auto found = contents_.find(inode_of(entry.path()));
    known.content = found == contents_.end() || is_unwatched(entry.path()) ? nullptr : found->second;
  }
  return names;
}

void DurableFiles::remember(const fs::path& folder) { folders_[inode_of(folder)] = names_in(folder); }

void DurableFiles::opened(int descriptor) {
  struct stat info {};
  // A number may be that of a file which is gone: whoever knew that one keeps its content.
  if (::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0) {
    contents_[info.st_ino] = std::make_shared<Content>();
  }
}

void DurableFiles::synced(int descriptor) {
  struct stat info {};
  if (::fstat(descriptor, &info) == 0) {
    std::shared_ptr<Content>& content = contents_[info.st_ino];
    content = content == nullptr ? std::make_shared<Content>() : content;
    content->bytes = content_of(path_of(descriptor));
  }
}

void DurableFiles::folder_synced(int descriptor) { remember(fs::read_symlink(path_of(descriptor))); }

void DurableFiles::write_folder(const fs::path& from, const fs::path& to, PowerLoss loss) const {
  fs::create_directories(to);
  const auto synced = folders_.find(inode_of(from));
  const Names none;
  const Names& known = synced == folders_.end() ? none : synced->second;
  const Names names = loss == PowerLoss::names_kept ? names_in(from) : known;
  for (const auto& [name, entry] : names) {
    if (entry.is_folder) {
      write_folder(from / name, to / name, loss);
    } else {
      write(to / name, entry.content == nullptr ? content_of(from / name) : entry.content->bytes);
    }
  }
}

void DurableFiles::write_survivors(const fs::path& folder, PowerLoss loss) const {
  const auto parent = folders_.find(inode_of(root_.parent_path()));
  const bool survives = parent != folders_.end() && parent->second.contains(root_.filename().string());
  fs::create_directories(folder);
  if (survives || loss == PowerLoss::names_kept) {
    write_folder(root_, folder, loss);
  }
}

}  // namespace feroma::faults
