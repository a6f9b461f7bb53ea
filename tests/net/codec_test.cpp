#include "feroma/net/codec.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "feroma/core/rng.h"
#include "feroma/models/archive.h"
#include "feroma/models/spec.h"
#include "tests/core/expect_error.h"

namespace feroma {
namespace {

using feroma::test::error_of;
using feroma::test::holds;

ParametersPtr model(int classes) { return share(initialise(make_model("mlp", {1, 3, 3}, classes), Rng(1))); }

Message everything() {
  return {{{"model", model(3)}, {"nothing", ParametersPtr()}, {"profile", Floats{1.5F, -2}}, {"counts", Ints{7}}}};
}

TEST(Codec, ReadsBackWhatItWrote) {
  const ParametersPtr own = model(3);
  const Message read = decode_message(encode_message(everything(), own->layout()), own->shared_layout(), "test");
  EXPECT_TRUE(std::ranges::equal(read.model("model")->values(), own->values()));
  EXPECT_EQ(std::get<ParametersPtr>(read.values.at("nothing")), nullptr);
  EXPECT_EQ(read.floats("profile"), (Floats{1.5F, -2}));
  EXPECT_EQ(read.ints("counts"), Ints{7});
  EXPECT_EQ(read.values.size(), 4U);
}

TEST(Codec, AModelOfAnotherLayoutIsRefused) {
  const Bytes bytes = encode_message({{{"model", model(4)}}}, model(4)->layout());
  const std::string error =
      error_of(ErrorCode::invalid_data, [&] { (void)decode_message(bytes, model(3)->shared_layout(), "client 5"); });
  EXPECT_TRUE(holds(error, "client 5: is of a model with other names or shapes"));
}

// Whatever arrives, it is read as a message or refused: no crash, no allocation beyond what is there.
TEST(Codec, CutAndFlippedMessagesAreRefusedOrRead) {
  const ParametersPtr own = model(3);
  const Bytes whole = encode_message(everything(), own->layout());
  const auto read = [&](std::span<const std::byte> bytes) {
    try {
      (void)decode_message(bytes, own->shared_layout(), "test");
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_data) << error.what();
      return false;
    }
  };
  for (std::size_t length = 0; length < whole.size(); length += 1 + length / 100) {
    EXPECT_FALSE(read(std::span(whole).first(length))) << length;
  }
  Rng rng(3);
  for (int i = 0; i < 500; ++i) {
    Bytes changed = whole;
    for (std::uint64_t flips = 1 + rng.below(64); flips > 0; --flips) {
      const std::uint64_t bit = rng.below(changed.size() * 8);
      changed[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    (void)read(changed);
  }
}

// Ten bytes of a value are a hundred in memory: how many there are is checked before any is read.
TEST(Codec, MessagesOfTooManyValuesAreRefused) {
  const ParametersPtr own = model(3);
  Message message;
  const auto with_values = [&](std::uint64_t count) {
    while (message.values.size() < count) {
      message.values[std::to_string(message.values.size())] = Floats();
    }
    return encode_message(message, own->layout());
  };
  EXPECT_EQ(decode_message(with_values(kMostValues), own->shared_layout(), "test").values.size(), kMostValues);
  const Bytes more = with_values(kMostValues + 1);
  EXPECT_TRUE(
      holds(error_of(ErrorCode::invalid_data, [&] { (void)decode_message(more, own->shared_layout(), "client 5"); }),
            "client 5: a message must have at most 16384 values, got 16385"));
}

}  // namespace
}  // namespace feroma
