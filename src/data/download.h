#pragma once

#include <cstddef>
#include <string>

#include "feroma/core/archive.h"

namespace feroma::detail {

/// Whether this build can download (libcurl was found).
[[nodiscard]] bool can_download();
/// What came back; a server that is down is an outcome, not an error.
struct Download {
  Bytes bytes;
  std::string failure;  ///< empty if everything arrived
};
/// Fetches a URL over HTTP(S), at most `max_bytes`.
[[nodiscard]] Download download(const std::string& url, std::size_t max_bytes);

}  // namespace feroma::detail
