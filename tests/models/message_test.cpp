#include "feroma/models/message.h"

#include <gtest/gtest.h>

#include "feroma/models/spec.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

ParametersPtr small_model() {
  auto layout = std::make_shared<ParamLayout>();
  layout->add("w", SegmentKind::weight, {3});
  return share(Parameters(layout));
}

Message sample() {
  Message message;
  message.values["profile"] = Floats{1.5F, 2.5F};
  message.values["counts"] = Ints{3, 4, 5};
  message.values["examples"] = Ints{600};
  message.values["model"] = small_model();
  message.values["nothing"] = ParametersPtr{};
  return message;
}

TEST(Message, GivesBackWhatWasPutIn) {
  const Message message = sample();
  EXPECT_EQ(message.floats("profile"), (Floats{1.5F, 2.5F}));
  EXPECT_EQ(message.ints("counts"), (Ints{3, 4, 5}));
  EXPECT_EQ(message.integer("examples"), 600);
  EXPECT_EQ(message.model("model")->size(), 3U);
  EXPECT_TRUE(message.has("model"));
  EXPECT_FALSE(message.has("other"));
}

TEST(Message, NamesAMissingKey) {
  const Message message = sample();
  expect_error(ErrorCode::invalid_data, "'other' is missing", [&] { return message.floats("other"); });
  expect_error(ErrorCode::invalid_data, "'other' is missing", [&] { return message.model("other"); });
}

TEST(Message, RefusesAnotherType) {
  const Message message = sample();
  expect_error(ErrorCode::invalid_data, "'counts' must hold floats", [&] { return message.floats("counts"); });
  expect_error(ErrorCode::invalid_data, "'profile' must hold integers", [&] { return message.ints("profile"); });
  expect_error(ErrorCode::invalid_data, "'profile' must hold a model", [&] { return message.model("profile"); });
}

TEST(Message, IntegerNeedsExactlyOneValue) {
  const Message message = sample();
  expect_error(ErrorCode::invalid_data, "one integer, got 3", [&] { return message.integer("counts"); });
}

TEST(Message, ModelIsNeverNull) {
  const Message message = sample();
  expect_error(ErrorCode::invalid_data, "'nothing'", [&] { return message.model("nothing"); });
}

TEST(Message, CountsFourBytesPerFloatAndEightPerInteger) {
  // 2 floats + 4 integers + a model of 3 floats.
  EXPECT_EQ(sample().bytes(), 2 * 4 + 4 * 8 + 3 * 4);
  EXPECT_EQ(Message{}.bytes(), 0);
}

}  // namespace
}  // namespace feroma
