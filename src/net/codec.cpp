#include "feroma/net/codec.h"

#include <algorithm>

#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/models/archive.h"

namespace feroma {
namespace {

/// Room for what travels besides models; down to a client that may be an encoder's projection.
constexpr std::uint64_t kBesidesAnswer = std::uint64_t{64} << 10;
constexpr std::uint64_t kBesidesTask = std::uint64_t{1} << 20;

/// More could not be read, whatever somebody's options say.
std::uint64_t bytes_of(std::uint64_t models, const ParamLayout& layout) {
  return std::min(models, kMostValues) * layout.size * sizeof(float);
}

}  // namespace

std::uint64_t largest_answer(std::uint64_t models, const ParamLayout& layout) {
  return kBesidesAnswer + bytes_of(models, layout);
}

std::uint64_t largest_task(std::uint64_t models, const ParamLayout& layout) {
  return kBesidesTask + bytes_of(models, layout);
}

std::string layout_digest(const ParamLayout& layout) {
  ArchiveWriter names;
  for (const Segment& segment : layout.segments) {
    names.put(std::string_view(segment.name));
    names.put(segment.kind);
    names.put(segment.shape);
  }
  return sha256(names.bytes());
}

Bytes encode_message(const Message& message, const ParamLayout& layout) {
  ArchiveWriter archive;
  archive.put(std::string_view(layout_digest(layout)));
  ModelWriter(archive).put(message);
  return archive.take();
}

Message decode_message(std::span<const std::byte> bytes, const std::shared_ptr<const ParamLayout>& layout,
                       const std::string& what) {
  ArchiveReader archive(bytes, what);
  const std::string digest = archive.get_string();
  require(digest == layout_digest(*layout), ErrorCode::invalid_data,
          "{}: is of a model with other names or shapes (layout {}, expected {})", what, digest.substr(0, 12),
          layout_digest(*layout).substr(0, 12));
  ModelReader reader(archive, layout);
  Message message = reader.get_message();
  archive.expect_end();
  return message;
}

}  // namespace feroma
