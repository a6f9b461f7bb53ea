#include "data/install.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <system_error>

#include "data/byte_source.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"

namespace feroma {
namespace detail {
namespace {

namespace fs = std::filesystem;

/// Larger than any official file; whatever inflates to more is not one of them.
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 28;

void require_digest(const DatasetFile& file, std::string_view kind, std::string_view official, const std::string& got) {
  require(got == official, ErrorCode::invalid_data, "[dataset] {} must have {} {}, got {}", file.name, kind, official,
          got);
}

/// The file's uncompressed content, if it is what the catalogue says. One checksum is enough for a file that was
/// installed by us; a new one must have all that are published.
std::vector<std::uint8_t> verified(const DatasetFile& file, const Bytes& bytes, bool is_new) {
  std::vector<std::uint8_t> content = uncompressed(bytes, std::string(file.name), kMaxFileBytes);
  const auto view = std::as_bytes(std::span(content));
  if (!file.sha256.empty()) {
    require_digest(file, "SHA-256", file.sha256, sha256(view));
  }
  if (!file.md5.empty() && (is_new || file.sha256.empty())) {
    require_digest(file, "MD5", file.md5, md5(view));
  }
  return content;
}

/// Gives `staged` the name of `target`; an earlier, unusable folder of that name steps aside first.
void replace_folder(const fs::path& staged, const fs::path& target) {
  std::error_code error;
  if (fs::exists(target)) {
    const StagingFolder aside(target.parent_path(), target.filename().string());
    fs::rename(target, aside.path() / "old", error);
  }
  if (!error) {
    fs::rename(staged, target, error);
  }
  require(!error, ErrorCode::io, "[dataset] {} must be replaceable, got: {}", target.string(), error.message());
}

}  // namespace

StagingFolder::StagingFolder(const fs::path& parent, std::string_view name) {
  make_writable_folder(parent);
  std::string pattern = (parent / fmt::format(".{}.unfinished-XXXXXX", name)).string();
  require(mkdtemp(pattern.data()) != nullptr, ErrorCode::io, "[dataset] {} must be writable, got: {}", parent.string(),
          std::generic_category().message(errno));
  path_ = pattern;
}

StagingFolder::~StagingFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void install_dataset(const DatasetEntry& entry, const fs::path& target,
                     const std::function<Bytes(const DatasetFile&)>& obtain) {
  const StagingFolder staging(target.parent_path(), entry.name);
  const fs::path folder = staging.path() / entry.name;
  make_writable_folder(folder);
  for (const DatasetFile& file : entry.files) {
    const std::vector<std::uint8_t> content = verified(file, obtain(file), /*is_new=*/true);
    write_file_atomically(folder / file.name, std::as_bytes(std::span(content)));
  }
  replace_folder(folder, target);
}

}  // namespace detail

std::vector<std::string> altered_files(const DatasetEntry& entry, const std::filesystem::path& folder) {
  const std::vector<std::filesystem::path> paths = dataset_paths(entry, folder);
  std::vector<std::string> altered;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (entry.files[i].sha256.empty() && entry.files[i].md5.empty()) {
      continue;
    }
    // A file too damaged to parse is an answer to the question, not a reason to stop asking it.
    try {
      (void)detail::verified(entry.files[i], read_file(paths[i]), /*is_new=*/false);
    } catch (const Error&) {
      altered.push_back(paths[i].string());
    }
  }
  return altered;
}

}  // namespace feroma
