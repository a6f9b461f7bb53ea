#include "feroma/runtime/fingerprint.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "feroma/core/error.h"
#include "feroma/core/files.h"

namespace feroma {

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

}  // namespace feroma
