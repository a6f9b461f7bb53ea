#include "data/download.h"

#include <curl/curl.h>

#include <memory>

#include "feroma/core/error.h"

namespace feroma::detail {
namespace {

constexpr long kConnectTimeoutSeconds = 15;
// A transfer below 1 kB/s for half a minute is dead.
constexpr long kSlowestBytesPerSecond = 1000;
constexpr long kSlowSeconds = 30;

struct Target {
  Bytes bytes;
  std::size_t max_bytes = 0;
};

/// libcurl's write callback: anything but `count` as the result ends the transfer.
std::size_t append(const char* data, std::size_t size, std::size_t count, void* user) {
  auto& target = *static_cast<Target*>(user);
  const std::size_t received = size * count;
  if (received > target.max_bytes - target.bytes.size()) {
    return 0;
  }
  const auto bytes = std::as_bytes(std::span(data, received));
  target.bytes.insert(target.bytes.end(), bytes.begin(), bytes.end());
  return received;
}

}  // namespace

bool can_download() { return true; }

Download download(const std::string& url, std::size_t max_bytes) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), curl_easy_cleanup);
  require(curl != nullptr, ErrorCode::internal, "[download] libcurl did not start");
  Target target{.bytes = {}, .max_bytes = max_bytes};
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT, kConnectTimeoutSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_LIMIT, kSlowestBytesPerSecond);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_TIME, kSlowSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &target);
  const CURLcode result = curl_easy_perform(curl.get());
  if (result != CURLE_OK) {
    return {.bytes = {}, .failure = fmt::format("{}: {}", url, curl_easy_strerror(result))};
  }
  return {.bytes = std::move(target.bytes), .failure = ""};
}

}  // namespace feroma::detail
