#include "data/download.h"
#include "feroma/core/error.h"

namespace feroma::detail {

bool can_download() { return false; }

Download download(const std::string& url, std::size_t /*max_bytes*/) {
  fail(ErrorCode::unsupported, "[download] {} needs a build with libcurl, got one without", url);
}

}  // namespace feroma::detail
