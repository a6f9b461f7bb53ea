#include "feroma/models/archive.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "tests/expect_error.h"

namespace feroma {
namespace {

std::shared_ptr<const ParamLayout> layout_of(std::int64_t size) {
  auto layout = std::make_shared<ParamLayout>();
  layout->add("w", SegmentKind::weight, {size});
  return layout;
}

ParametersPtr model_of(std::vector<float> values) {
  Parameters params(layout_of(static_cast<std::int64_t>(values.size())));
  std::copy(values.begin(), values.end(), params.values().begin());
  return share(std::move(params));
}

Message sample(const ParametersPtr& model) {
  Message message;
  message.values["a"] = Floats{1.0F, -2.0F};
  message.values["b"] = Ints{-7, 1LL << 40};
  message.values["c"] = model;
  message.values["d"] = model;
  message.values["e"] = ParametersPtr{};
  return message;
}

Bytes written(const Message& message) {
  ArchiveWriter out;
  ModelWriter(out).put(message);
  return out.take();
}

Message read_back(std::span<const std::byte> bytes, std::int64_t model_size) {
  ArchiveReader in(bytes, "test.bin");
  Message message = ModelReader(in, layout_of(model_size)).get_message();
  in.expect_end();
  return message;
}

TEST(ModelArchive, GivesBackAMessage) {
  const Message back = read_back(written(sample(model_of({0.5F, 1.5F, 2.5F}))), 3);
  EXPECT_EQ(back.values.size(), 5U);
  EXPECT_EQ(back.floats("a"), (Floats{1.0F, -2.0F}));
  EXPECT_EQ(back.ints("b"), (Ints{-7, 1LL << 40}));
  EXPECT_EQ(back.model("c")->values()[2], 2.5F);
  EXPECT_EQ(std::get<ParametersPtr>(back.values.at("e")), nullptr);
}

TEST(ModelArchive, KeepsASharedModelShared) {
  const Message back = read_back(written(sample(model_of({1, 2, 3}))), 3);
  EXPECT_EQ(back.model("c"), back.model("d"));
}

TEST(ModelArchive, KeepsEqualButSeparateModelsApart) {
  Message message;
  message.values["c"] = model_of({1});
  message.values["d"] = model_of({1});
  const Message back = read_back(written(message), 1);
  EXPECT_NE(back.model("c"), back.model("d"));
}

TEST(ModelArchive, WritesASharedModelOnce) {
  const ParametersPtr model = model_of(std::vector<float>(1000, 1.0F));
  ArchiveWriter out;
  ModelWriter writer(out);
  writer.put(model);
  const std::size_t once = out.bytes().size();
  writer.put(model);
  EXPECT_GT(once, 4000U);
  EXPECT_EQ(out.bytes().size() - once, 5U);
}

TEST(ModelArchive, DoesNotTakeANewModelForOneThatHasGone) {
  ArchiveWriter out;
  ModelWriter writer(out);
  for (int i = 0; i < 8; ++i) {
    writer.put(model_of({static_cast<float>(i)}));  // freed models would give their address to the next
  }
  ArchiveReader in(out.bytes(), "test.bin");
  ModelReader reader(in, layout_of(1));
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(reader.get_model()->values()[0], static_cast<float>(i));
  }
}

TEST(ModelArchive, KeepsTheBitsOfNumbersThatAreNotFinite) {
  Message message;
  message.values["c"] = model_of({std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()});
  const Message back = read_back(written(message), 2);
  EXPECT_TRUE(std::isnan(back.model("c")->values()[0]));
  EXPECT_EQ(back.model("c")->values()[1], -std::numeric_limits<float>::infinity());
}

TEST(ModelArchive, RefusesAModelOfAnotherSize) {
  const Bytes bytes = written(sample(model_of({1, 2, 3})));
  expect_error(ErrorCode::invalid_data, "test.bin: a model must have 4 values, got 3",
               [&] { return read_back(bytes, 4); });
}

TEST(ModelArchive, RefusesEveryTruncation) {
  const Bytes bytes = written(sample(model_of({1, 2, 3})));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    expect_error(ErrorCode::invalid_data, "test.bin", [&] { return read_back(std::span(bytes).first(length), 3); });
  }
}

TEST(ModelArchive, RefusesAReferenceToAModelThatWasNotRead) {
  ArchiveWriter out;
  out.put(std::uint8_t{2});
  out.put(std::uint32_t{0});
  ArchiveReader in(out.bytes(), "test.bin");
  ModelReader reader(in, layout_of(1));
  expect_error(ErrorCode::invalid_data, "refers to model 0 of 0", [&] { return reader.get_model(); });
}

TEST(ModelArchive, MayNameModelsThatStandElsewhere) {
  std::map<std::string, std::vector<float>> elsewhere;
  ArchiveWriter out;
  ModelWriter writer(out, [&](const Parameters& model) {
    std::string name = "model-" + std::to_string(elsewhere.size());
    elsewhere[name].assign(model.values().begin(), model.values().end());
    return name;
  });
  const ParametersPtr shared = model_of({1, 2});
  writer.put(shared);
  writer.put(model_of({3, 4}));
  writer.put(shared);
  EXPECT_EQ(elsewhere.size(), 2U) << "one that is there twice is placed once";
  ArchiveReader in(out.bytes(), "test.bin");
  ModelReader reader(in, layout_of(2), [&](const std::string& name) { return elsewhere.at(name); });
  EXPECT_EQ(reader.get_model()->values()[1], 2);
  EXPECT_EQ(reader.get_model()->values()[1], 4);
  EXPECT_EQ(reader.get_model()->values()[1], 2);
  // What comes from outside has to be whole.
  ArchiveReader again(out.bytes(), "test.bin");
  ModelReader bare(again, layout_of(2));
  expect_error(ErrorCode::invalid_data, "models must be in it", [&] { return bare.get_model(); });
}

TEST(ModelArchive, RefusesUnknownTags) {
  ArchiveWriter out;
  out.put(std::uint8_t{4});
  ArchiveReader in(out.bytes(), "test.bin");
  ModelReader reader(in, layout_of(1));
  expect_error(ErrorCode::invalid_data, "unknown tag 4", [&] { return reader.get_model(); });

  ArchiveWriter message;
  message.put(std::uint64_t{1});
  message.put(std::string_view("key"));
  message.put(std::uint8_t{9});
  expect_error(ErrorCode::invalid_data, "'key' has the unknown kind 9", [&] { return read_back(message.bytes(), 1); });
}

TEST(ModelArchive, RefusesRepeatedKeys) {
  ArchiveWriter out;
  out.put(std::uint64_t{2});
  for (int i = 0; i < 2; ++i) {
    out.put(std::string_view("key"));
    out.put(std::uint8_t{0});
    out.put(Floats{});
  }
  expect_error(ErrorCode::invalid_data, "unique and in order, got 'key'", [&] { return read_back(out.bytes(), 1); });
}

RC_GTEST_PROP(ModelArchive, RoundTripsAnyMessage, ()) {
  Message message;
  for (const auto& [key, values] : *rc::gen::arbitrary<std::map<std::string, std::vector<std::int64_t>>>()) {
    message.values[key] = values;
  }
  for (const auto& [key, values] : *rc::gen::arbitrary<std::map<std::string, std::vector<float>>>()) {
    message.values[key] = values;
  }
  const Message back = read_back(written(message), 1);
  RC_ASSERT(back.values == message.values);
}

RC_GTEST_PROP(ModelArchive, NeverCrashesOnDamagedBytes, ()) {
  Bytes bytes = written(sample(model_of({1, 2, 3})));
  bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = static_cast<std::byte>(*rc::gen::arbitrary<std::uint8_t>());
  try {
    static_cast<void>(read_back(bytes, 3));
  } catch (const Error& error) {
    RC_ASSERT(error.code() == ErrorCode::invalid_data);
  }
}

}  // namespace
}  // namespace feroma
