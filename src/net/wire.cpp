#include "net/wire.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <limits>

namespace feroma::net {
namespace {

namespace pb = google::protobuf;

enum class WireType : std::uint8_t { varint = 0, eight_bytes = 1, length = 2, four_bytes = 5 };
constexpr int kWireTypeBits = 3;
/// Fields of one message, at most. Each takes a hundred bytes or so however short it is; models have some hundred.
constexpr int kMostFields = 1 << 16;

/// Whether every length up to the stream's limit ends within the message that it is part of, and `fields` are not used
/// up. No message holds its like, so that the contract itself says how deep this goes.
bool lengths_hold(pb::io::CodedInputStream& in, const pb::Descriptor& message, int& fields) {
  while (in.BytesUntilLimit() > 0) {
    std::uint32_t tag = 0;
    if (--fields < 0 || !in.ReadVarint32(&tag)) {
      return false;
    }
    switch (static_cast<WireType>(tag & ((1U << kWireTypeBits) - 1))) {
      case WireType::varint: {
        std::uint64_t value = 0;
        if (!in.ReadVarint64(&value)) {
          return false;
        }
        break;
      }
      case WireType::eight_bytes:
        if (!in.Skip(8)) {
          return false;
        }
        break;
      case WireType::four_bytes:
        if (!in.Skip(4)) {
          return false;
        }
        break;
      case WireType::length: {
        std::uint32_t length = 0;
        if (!in.ReadVarint32(&length) || length > static_cast<std::uint32_t>(in.BytesUntilLimit())) {
          return false;
        }
        const pb::FieldDescriptor* field = message.FindFieldByNumber(static_cast<int>(tag >> kWireTypeBits));
        const pb::Descriptor* inner = field == nullptr ? nullptr : field->message_type();
        if (inner == nullptr) {
          if (!in.Skip(static_cast<int>(length))) {
            return false;
          }
          break;
        }
        const auto outer = in.PushLimit(static_cast<int>(length));
        if (!lengths_hold(in, *inner, fields)) {
          return false;
        }
        in.PopLimit(outer);
        break;
      }
      default: return false;  // groups, which no message of ours or of Flower's has
    }
  }
  return true;
}

bool lengths_hold(pb::io::ZeroCopyInputStream& bytes, std::size_t count, const pb::Descriptor& message) {
  if (count > std::size_t{std::numeric_limits<int>::max()}) {
    return false;
  }
  pb::io::CodedInputStream in(&bytes);
  static_cast<void>(in.PushLimit(static_cast<int>(count)));
  int fields = kMostFields;
  return lengths_hold(in, message, fields);
}

}  // namespace

bool read_wire(grpc::ByteBuffer& bytes, pb::Message& message) {
  bool is_one = false;
  {
    grpc::ProtoBufferReader walked(&bytes);
    grpc::ProtoBufferReader read(&bytes);
    is_one = lengths_hold(walked, bytes.Length(), *message.GetDescriptor()) && message.ParseFromZeroCopyStream(&read);
  }
  bytes.Clear();
  return is_one;
}

bool read_wire(std::string_view bytes, pb::Message& message) {
  pb::io::ArrayInputStream walked(bytes.data(), static_cast<int>(bytes.size()));
  return lengths_hold(walked, bytes.size(), *message.GetDescriptor()) &&
         message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace feroma::net
