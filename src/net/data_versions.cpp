#include "net/data_versions.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "feroma/core/error.h"
#include "feroma/core/files.h"

namespace feroma::net {

namespace fs = std::filesystem;

std::string fingerprint_of(const fs::path& folder) {
  std::vector<std::string> lines;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;  // a file that vanishes meanwhile is not there
    const bool is_file = it->is_regular_file(gone);
    const std::uintmax_t size = is_file ? it->file_size(gone) : 0;
    const fs::file_time_type written = is_file && !gone ? it->last_write_time(gone) : fs::file_time_type();
    if (is_file && !gone) {
      lines.push_back(fmt::format("{} {} {}\n", it->path().lexically_relative(folder).string(), size,
                                  written.time_since_epoch().count()));
    }
  }
  require(!error, ErrorCode::io, "{}: cannot list the files: {}", folder.string(), error.message());
  std::sort(lines.begin(), lines.end());
  std::string all;
  for (const std::string& line : lines) {
    all += line;
  }
  return sha256(std::as_bytes(std::span(all)));
}

DataVersions::DataVersions(fs::path file) : file_(std::move(file)) {
  if (!fs::exists(file_)) {
    return;
  }
  std::istringstream lines(read_text(file_));
  for (std::string line; std::getline(lines, line);) {
    require(line.size() == 64, ErrorCode::invalid_data, "{}:{}: a version must have 64 hexadecimal digits, got \"{}\"",
            file_.string(), versions_.size() + 1, line);
    versions_.push_back(line);
  }
}

int DataVersions::number_of(const std::string& fingerprint) {
  if (versions_.empty() || versions_.back() != fingerprint) {
    std::string text;
    versions_.push_back(fingerprint);
    for (const std::string& version : versions_) {
      text += version + "\n";
    }
    make_writable_folder(file_.parent_path());
    write_file_atomically(file_, std::string_view(text));
  }
  return static_cast<int>(versions_.size()) - 1;
}

}  // namespace feroma::net
