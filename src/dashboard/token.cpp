#include "dashboard/token.h"

#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "feroma/core/error.h"
#include "feroma/core/files.h"

namespace feroma::dashboard {
namespace {

constexpr std::size_t kTokenBytes = 16;
constexpr std::size_t kShortest = 16;
constexpr std::size_t kLongest = 256;

}  // namespace

std::string random_token() {
  std::array<unsigned char, kTokenBytes> bytes{};
  require(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), ErrorCode::io,
          "the system gives no random bytes: {}", std::strerror(errno));
  std::string token;
  for (const unsigned char byte : bytes) {
    token += fmt::format("{:02x}", byte);
  }
  return token;
}

std::string read_token(const std::filesystem::path& file) {
  std::string token = read_text(file);
  token.resize(std::min(token.size(), token.find_first_of("\r\n")));
  // What needs quoting in an address or a cookie is not worth the trouble. The token itself is never printed.
  const bool plain = std::all_of(token.begin(), token.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
  require(plain && token.size() >= kShortest && token.size() <= kLongest, ErrorCode::invalid_config,
          "{}: the token in its first line must be {} to {} letters, digits, '-', '_' or '.', got {} characters",
          file.string(), kShortest, kLongest, token.size());
  return token;
}

bool same_token(std::string_view expected, std::string_view given) {
  unsigned difference = expected.size() == given.size() ? 0 : 1;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const char other = given.empty() ? '\0' : given[i % given.size()];
    difference |= static_cast<unsigned char>(expected[i] ^ other);
  }
  return difference == 0;
}

std::string cookie_value(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    const std::size_t end = std::min(header.find(';'), header.size());
    std::string_view pair = header.substr(0, end);
    header.remove_prefix(std::min(end + 1, header.size()));
    pair.remove_prefix(std::min(pair.find_first_not_of(' '), pair.size()));
    if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=') {
      return std::string(pair.substr(name.size() + 1));
    }
  }
  return "";
}

}  // namespace feroma::dashboard
