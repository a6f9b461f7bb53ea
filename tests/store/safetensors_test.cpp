#include "feroma/store/safetensors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "feroma/core/files.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"

namespace feroma {
namespace {

using test::error_of;
using test::holds;

std::shared_ptr<const ParamLayout> small_layout() {
  ParamLayout layout;
  layout.segments = {{"fc.weight", SegmentKind::weight, {2, 1}, 0, 2}, {"fc.bias", SegmentKind::bias, {1}, 2, 1}};
  layout.size = 3;
  return std::make_shared<const ParamLayout>(layout);
}

Parameters small_model() {
  Parameters params(small_layout());
  params.values()[0] = 1.0F;
  params.values()[1] = -2.0F;
  params.values()[2] = 0.5F;
  return params;
}

const std::string kHeader =
    R"({"__metadata__":{"round":"3"},"fc.weight":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
    R"("fc.bias":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})";
const std::string kData("\x00\x00\x80\x3f\x00\x00\x00\xc0\x00\x00\x00\x3f", 12);

Bytes file_of(const std::string& header, const std::string& data) {
  std::string text;
  for (std::size_t i = 0; i < 8; ++i) {
    text += static_cast<char>(header.size() >> (8 * i) & 0xff);
  }
  text += header + data;
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string refusal(const Bytes& bytes) {
  return error_of(ErrorCode::invalid_data, [&] { (void)parse_safetensors(bytes, "m", small_layout()); });
}

/// The valid file with one part of its header replaced.
std::string refusal_with(const std::string& from, const std::string& to) {
  std::string header = kHeader;
  const std::size_t at = header.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  header.replace(at, from.size(), to);
  return refusal(file_of(header, kData));
}

TEST(Safetensors, WritesTheDocumentedFormat) {
  std::string padded = kHeader;
  padded.append((8 - padded.size() % 8) % 8, ' ');
  EXPECT_EQ(safetensors_bytes(small_model(), {{"round", "3"}}), file_of(padded, kData));
}

TEST(Safetensors, ReadsBackBitsNamesAndMetadata) {
  const test::TempFolder folder;
  Parameters params = small_model();
  params.values()[1] = std::numeric_limits<float>::quiet_NaN();
  write_safetensors(folder / "m.safetensors", params, {{"algorithm", "feroma \"auto\" ±"}});
  const ModelFile file = read_safetensors(folder / "m.safetensors", small_layout());
  EXPECT_EQ(file.metadata, (std::map<std::string, std::string>{{"algorithm", "feroma \"auto\" ±"}}));
  EXPECT_EQ(file.params.values()[0], 1.0F);
  EXPECT_TRUE(std::isnan(file.params.values()[1]));
  EXPECT_EQ(file.params.values()[2], 0.5F);
}

TEST(Safetensors, ReadsTensorsInAnyOrderAndWithoutMetadata) {
  const ModelFile file =
      parse_safetensors(file_of(R"({"fc.bias":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                R"("fc.weight":{"dtype":"F32","shape":[2,1],"data_offsets":[4,12]}})",
                                kData),
                        "m", small_layout());
  EXPECT_TRUE(file.metadata.empty());
  EXPECT_EQ(file.params.values()[2], 1.0F);
  EXPECT_EQ(file.params.values()[0], -2.0F);
  EXPECT_EQ(file.params.values()[1], 0.5F);
}

TEST(Safetensors, MissingAndExtraTensorsAreNamed) {
  EXPECT_EQ(refusal_with("fc.bias", "fc.bios"), "m: tensor fc.bias is missing");
  EXPECT_EQ(refusal_with(R"("fc.bias":)", R"("more":{},"fc.bias":)"), "m: tensor more is not part of the model");
}

TEST(Safetensors, WrongTypeAndShapeAreNamed) {
  EXPECT_TRUE(holds(refusal_with("F32", "F16"), "m: tensor fc.weight must have dtype F32, got {"));
  EXPECT_TRUE(holds(refusal_with("[2,1]", "[1,2]"), "m: tensor fc.weight must have shape [2,1], got {"));
  EXPECT_TRUE(holds(refusal_with("[2,1]", "[2]"), "tensor fc.weight must have shape [2,1]"));
  EXPECT_TRUE(holds(refusal_with("[2,1]", "\"big\""), "tensor fc.weight must have shape [2,1]"));
  EXPECT_TRUE(holds(refusal_with(R"("dtype":"F32",)", ""), "tensor fc.weight must have dtype, shape and data_offsets"));
}

TEST(Safetensors, OffsetsOutsideOverlappingOrWithHolesAreRefused) {
  EXPECT_TRUE(holds(refusal_with("[8,12]", "[12,16]"), "tensor fc.bias must lie inside the 12 bytes of data"));
  EXPECT_TRUE(holds(refusal_with("[8,12]", "[12,8]"), "tensor fc.bias must lie inside"));
  EXPECT_TRUE(holds(refusal_with("[8,12]", "[8,18446744073709551615]"), "tensor fc.bias must lie inside"));
  EXPECT_TRUE(holds(refusal_with("[8,12]", "[-4,0]"), "tensor fc.bias must have two data_offsets"));
  EXPECT_TRUE(holds(refusal_with("[8,12]", "[8,12,16]"), "tensor fc.bias must have two data_offsets"));
  EXPECT_TRUE(holds(refusal_with("[8,12]", "[8,11]"), "tensor fc.bias must take 4 bytes"));
  EXPECT_TRUE(holds(refusal_with("[8,12]", "[4,8]"), "m: tensors overlap or leave a hole at byte 4"));
  EXPECT_EQ(refusal(file_of(kHeader, kData + "xx")), "m: 2 bytes of data belong to no tensor");
}

TEST(Safetensors, BadHeadersAreRefused) {
  EXPECT_TRUE(holds(refusal(file_of("[]", "")), "not a JSON object"));
  EXPECT_TRUE(holds(refusal(file_of("{", "")), "not a JSON object"));
  EXPECT_TRUE(holds(refusal(file_of(std::string(100000, '['), "")), "not a JSON object"));
  EXPECT_TRUE(holds(refusal_with(R"({"round":"3"})", "7"), "__metadata__ must be an object"));
  EXPECT_TRUE(holds(refusal_with(R"({"round":"3"})", R"({"round":3})"), "round of __metadata__ must be a string"));
  EXPECT_TRUE(holds(refusal_with("__metadata__\":{\"round\":\"3\"}", "fc.bias\":{}"), "fc.bias stands twice"));
  Bytes lies = file_of(kHeader, kData);
  lies[7] = std::byte{0xff};
  EXPECT_TRUE(holds(refusal(lies), "the header claims"));
}

TEST(Safetensors, AFileMustBeTheOneThatWasWritten) {
  const feroma::test::TempFolder folder;
  const std::string digest = write_safetensors(folder / "m.safetensors", small_model(), {});
  EXPECT_EQ(read_safetensors(folder / "m.safetensors", small_layout(), digest).params.size(), 3U);
  write_safetensors(folder / "m.safetensors", Parameters(small_layout()), {});
  const std::string error = error_of(ErrorCode::invalid_data,
                                     [&] { (void)read_safetensors(folder / "m.safetensors", small_layout(), digest); });
  EXPECT_TRUE(holds(error, "m.safetensors: is damaged, or another model")) << error;
}

TEST(Safetensors, EveryTruncationPointIsRefused) {
  const Bytes bytes = safetensors_bytes(small_model(), {});
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    (void)refusal(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)));
  }
}

RC_GTEST_PROP(Safetensors, AnyChangedByteIsReadOrRefusedButNeverWorse, (unsigned char value)) {
  Bytes bytes = safetensors_bytes(small_model(), {{"round", "3"}});
  bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = std::byte{value};
  try {
    RC_ASSERT(parse_safetensors(bytes, "m", small_layout()).params.size() == 3U);
  } catch (const Error& error) {
    RC_ASSERT(error.code() == ErrorCode::invalid_data);
  }
}

TEST(Safetensors, TwoTensorsOfOneNameAreABug) {
  ParamLayout layout;
  layout.segments = {{"a", SegmentKind::weight, {1}, 0, 1}, {"a", SegmentKind::weight, {1}, 1, 1}};
  layout.size = 2;
  const Parameters params(std::make_shared<const ParamLayout>(layout));
  EXPECT_TRUE(holds(error_of(ErrorCode::internal, [&] { (void)safetensors_bytes(params, {}); }), "got a twice"));
}

}  // namespace
}  // namespace feroma
