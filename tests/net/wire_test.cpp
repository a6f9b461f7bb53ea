// Messages of strangers: read as protobuf reads them, but for lengths that lie.
#include "net/wire.h"

#include <feroma/v1/federation.pb.h>
#include <flwr/proto/transport.pb.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <vector>

namespace feroma::net {
namespace {

/// As a network delivers it: in parts of three bytes.
grpc::ByteBuffer in_parts(const std::string& bytes) {
  std::vector<grpc::Slice> parts;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    parts.emplace_back(bytes.substr(at, 3));
  }
  return {parts.data(), parts.size()};
}

/// Whether both ways read the bytes, which must agree.
template <class Message>
bool reads(const std::string& bytes, Message& message) {
  Message streamed;
  grpc::ByteBuffer buffer = in_parts(bytes);
  const bool read = read_wire(std::string_view(bytes), message);
  EXPECT_EQ(read_wire(buffer, streamed), read);
  EXPECT_EQ(buffer.Length(), 0U);
  EXPECT_TRUE(!read || google::protobuf::util::MessageDifferencer::Equals(message, streamed));
  return read;
}

v1::ClientFrame nested_frame() {
  v1::ClientFrame frame;
  frame.set_session("a session");
  frame.set_counter(std::uint64_t{1} << 40);
  v1::Answer& answer = *frame.mutable_answer();
  answer.set_round(-1);
  answer.set_digest(std::string(200, 'd'));
  answer.mutable_telemetry()->set_train_loss(0.5);
  answer.mutable_telemetry()->mutable_before()->set_count(12);
  return frame;
}

flwr::proto::ClientMessage flower_message() {
  flwr::proto::ClientMessage message;
  flwr::proto::ClientMessage::FitRes& fit = *message.mutable_fit_res();
  fit.mutable_parameters()->add_tensors("a tensor");
  (*fit.mutable_metrics())["loss"].set_real(0.25);
  (*fit.mutable_metrics())["name"].set_text("someone");
  return message;
}

template <class Message>
void expect_read_back(const Message& sent) {
  Message read;
  ASSERT_TRUE(reads(sent.SerializeAsString(), read));
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(sent, read));
}

TEST(Wire, MessagesComeBackAsTheyWere) {
  expect_read_back(v1::ClientFrame());
  expect_read_back(nested_frame());
  expect_read_back(flower_message());
}

template <class Message>
void expect_nothing_shorter_believed(const Message& sent) {
  const std::string whole = sent.SerializeAsString();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string bytes = whole.substr(0, length);
    Message by_protobuf;
    Message read;
    EXPECT_EQ(reads(bytes, read), by_protobuf.ParseFromString(bytes)) << length;
  }
}

TEST(Wire, CutMessagesAreReadWhereProtobufReadsThem) {
  expect_nothing_shorter_believed(nested_frame());
  expect_nothing_shorter_believed(flower_message());
}

TEST(Wire, FieldsOfLaterVersionsAreNoFault) {
  // Numbers 200 to 203 are nobody's: a varint, eight bytes, four bytes and a text.
  const std::string later = nested_frame().SerializeAsString() + "\xC0\x0C\x07" + "\xC9\x0C" + "12345678" + "\xD5\x0C" +
                            "1234" + "\xDA\x0C\x02" + "hi";
  v1::ClientFrame frame;
  EXPECT_TRUE(reads(later, frame));
  EXPECT_EQ(frame.answer().digest(), nested_frame().answer().digest());
}

TEST(Wire, GroupsAreRefused) {
  v1::ClientFrame frame;
  EXPECT_FALSE(reads("\xC3\x0C\xC4\x0C", frame));  // number 200 begins and ends
}

// Two bytes each on the wire, a hundred in memory.
TEST(Wire, FieldsWithoutEndAreRefused) {
  flwr::proto::ClientMessage message;
  flwr::proto::Parameters& parameters = *message.mutable_fit_res()->mutable_parameters();
  const auto with_tensors = [&](int count) {
    while (parameters.tensors_size() < count) {
      parameters.add_tensors("");
    }
    return message.SerializeAsString();
  };
  flwr::proto::ClientMessage read;
  EXPECT_TRUE(reads(with_tensors(10'000), read));
  EXPECT_FALSE(reads(with_tensors(1 << 16), read));
}

TEST(Wire, ALengthEndsWithinItsMessage) {
  std::string bytes = flower_message().SerializeAsString();
  const std::size_t tensor = bytes.find("a tensor");
  ASSERT_NE(tensor, std::string::npos);
  flwr::proto::ClientMessage message;
  // One byte more than its message has, though the frame goes on for longer.
  bytes[tensor - 1] = static_cast<char>(bytes[tensor - 1] + 1);
  EXPECT_FALSE(reads(bytes, message));
}

}  // namespace
}  // namespace feroma::net
