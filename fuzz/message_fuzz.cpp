#include "feroma/net/codec.h"
#include "fuzz/guard.h"
#include "fuzz/tiny_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes = feroma::fuzz::bytes_of(data, size);
  return feroma::fuzz::guarded([&] {
    const auto layout = feroma::fuzz::tiny_model()->shared_layout();
    const feroma::Message message = feroma::decode_message(bytes, layout, "input");
    // A model may be written twice, or once and referred to; either way it is read as the same.
    const feroma::Bytes again = feroma::encode_message(message, *layout);
    const feroma::Message twice = feroma::decode_message(again, layout, "written again");
    feroma::fuzz::expect(feroma::encode_message(twice, *layout) == again, "what was read is written as it was");
  });
}
