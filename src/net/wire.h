#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <string_view>

namespace feroma::net {

/// A message of a stranger; false where the bytes are none. No length within them is believed, or given memory for,
/// before so much is seen to follow: protobuf itself would take up to 50 MB for a forged one. Empties the buffer.
[[nodiscard]] bool read_wire(grpc::ByteBuffer& bytes, google::protobuf::Message& message);
[[nodiscard]] bool read_wire(std::string_view bytes, google::protobuf::Message& message);

}  // namespace feroma::net
