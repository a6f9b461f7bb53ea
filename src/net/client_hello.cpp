#include "net/client_hello.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace feroma::net {
namespace {

using Span = std::span<const std::byte>;

constexpr unsigned kHandshakeRecord = 22;
constexpr unsigned kClientHello = 1;
constexpr std::size_t kRecordHeader = 5;
constexpr std::size_t kLongestRecord = std::size_t{1} << 14;
constexpr std::size_t kMessageHeader = 4;
constexpr std::size_t kRandom = 32;
constexpr std::size_t kLongestSessionId = 32;
constexpr unsigned kSupportedVersions = 43;
constexpr unsigned kTls12 = 0x0303;
constexpr unsigned kTls13 = 0x0304;

/// The bytes that are there.
unsigned at(Span bytes, std::size_t index) { return std::to_integer<unsigned>(bytes[index]); }

/// Takes fields from the front; once one is not whole, nothing more is taken.
class Fields {
 public:
  explicit Fields(Span bytes) : left_(bytes) {}

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool empty() const { return left_.empty(); }
  [[nodiscard]] std::size_t size() const { return left_.size(); }

  Span take(std::size_t count) {
    if (failed_ || count > left_.size()) {
      failed_ = true;
      return {};
    }
    const Span taken = left_.first(count);
    left_ = left_.subspan(count);
    return taken;
  }
  /// A number of so many bytes, the largest first; 0 where it is not whole.
  unsigned number(std::size_t width) {
    unsigned value = 0;
    for (const std::byte byte : take(width)) {
      value = value << 8 | std::to_integer<unsigned>(byte);
    }
    return value;
  }
  /// What follows a length of so many bytes.
  Span counted(std::size_t width) { return take(number(width)); }

 private:
  Span left_;
  bool failed_ = false;
};

/// The handshake message that begins in the first record: as much of it as has arrived, without the records' headers.
/// Absent where the records are not such.
std::optional<std::vector<std::byte>> message_of(Span bytes) {
  std::vector<std::byte> message;
  std::size_t wanted = kMessageHeader;
  while (!bytes.empty() && message.size() < wanted) {
    if (at(bytes, 0) != kHandshakeRecord || (bytes.size() > 1 && at(bytes, 1) != 3)) {
      return std::nullopt;
    }
    if (bytes.size() < kRecordHeader) {
      break;
    }
    const std::size_t length = at(bytes, 3) << 8 | at(bytes, 4);
    if (length == 0 || length > kLongestRecord) {
      return std::nullopt;
    }
    const Span payload = bytes.subspan(kRecordHeader, std::min(length, bytes.size() - kRecordHeader));
    bytes = bytes.subspan(kRecordHeader + payload.size());
    message.insert(message.end(), payload.begin(), payload.end());
    if (!message.empty() && at(message, 0) != kClientHello) {
      return std::nullopt;
    }
    if (message.size() >= kMessageHeader) {
      wanted = kMessageHeader + (at(message, 1) << 16 | at(message, 2) << 8 | at(message, 3));
      if (wanted > kLargestHello) {
        return std::nullopt;
      }
    }
  }
  message.resize(std::min(message.size(), wanted));
  return message;
}

/// Whether a list of versions holds TLS 1.3; absent where it is no such list.
std::optional<bool> offers_tls13(Span extension) {
  Fields fields(extension);
  Fields versions(fields.counted(1));
  if (fields.failed() || !fields.empty() || versions.empty() || versions.size() % 2 != 0) {
    return std::nullopt;
  }
  bool offered = false;
  while (!versions.empty()) {
    offered = versions.number(2) == kTls13 || offered;
  }
  return offered;
}

HelloVerdict inspect_body(Span body) {
  Fields fields(body);
  const unsigned version = fields.number(2);
  fields.take(kRandom);
  const Span session_id = fields.counted(1);
  const Span ciphers = fields.counted(2);
  const Span compressions = fields.counted(1);
  if (fields.failed() || version >> 8 != 3 || session_id.size() > kLongestSessionId || ciphers.empty() ||
      ciphers.size() % 2 != 0 || compressions.empty()) {
    return HelloVerdict::malformed;
  }
  if (fields.empty()) {
    return HelloVerdict::older;  // extensions came with TLS 1.2, and 1.3 is one of them
  }
  Fields extensions(fields.counted(2));
  if (fields.failed() || !fields.empty()) {
    return HelloVerdict::malformed;
  }
  std::optional<bool> tls13;
  while (!extensions.empty()) {
    const unsigned kind = extensions.number(2);
    const Span extension = extensions.counted(2);
    if (extensions.failed()) {
      return HelloVerdict::malformed;
    }
    if (kind == kSupportedVersions) {
      const std::optional<bool> offered = offers_tls13(extension);
      // Of two lists somebody else might believe the other one.
      if (!offered || tls13) {
        return HelloVerdict::malformed;
      }
      tls13 = offered;
    }
  }
  if (!tls13.value_or(false)) {
    return HelloVerdict::older;
  }
  return version == kTls12 ? HelloVerdict::tls13 : HelloVerdict::malformed;
}

/// A hello of SSL 2: two bytes of length with the highest bit set, then the kind of message.
HelloVerdict inspect_ssl2(Span bytes) {
  if (bytes.size() < 3) {
    return HelloVerdict::need_more;
  }
  return at(bytes, 2) == kClientHello ? HelloVerdict::older : HelloVerdict::not_tls;
}

}  // namespace

HelloVerdict inspect_client_hello(Span bytes) {
  if (bytes.empty()) {
    return HelloVerdict::need_more;
  }
  if ((at(bytes, 0) & 0x80U) != 0) {
    return inspect_ssl2(bytes);
  }
  if (at(bytes, 0) != kHandshakeRecord || (bytes.size() > 1 && at(bytes, 1) != 3)) {
    return HelloVerdict::not_tls;
  }
  const std::optional<std::vector<std::byte>> message = message_of(bytes);
  if (!message) {
    return HelloVerdict::malformed;
  }
  Fields fields(*message);
  fields.take(1);
  const Span body = fields.counted(3);
  if (!fields.failed()) {
    return inspect_body(body);
  }
  return bytes.size() < kLargestHello ? HelloVerdict::need_more : HelloVerdict::malformed;
}

}  // namespace feroma::net
