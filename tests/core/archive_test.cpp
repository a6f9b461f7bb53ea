#include "feroma/core/archive.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "tests/core/expect_error.h"

namespace feroma {
namespace {

using test::error_of;
using test::holds;

Bytes sample_message() {
  ArchiveWriter out;
  out.put<std::int32_t>(-7);
  out.put(std::vector<float>{1.5F, -2.0F});
  out.put("name");
  out.put<double>(0.25);
  out.put(std::vector<std::int64_t>{});
  return out.take();
}

void read_sample(ArchiveReader& in) {
  EXPECT_EQ(in.get<std::int32_t>(), -7);
  EXPECT_EQ(in.get_vector<float>(), (std::vector<float>{1.5F, -2.0F}));
  EXPECT_EQ(in.get_string(), "name");
  EXPECT_EQ(in.get<double>(), 0.25);
  EXPECT_TRUE(in.get_vector<std::int64_t>().empty());
}

TEST(Archive, ReadsBackWhatWasWritten) {
  const Bytes bytes = sample_message();
  ArchiveReader in(bytes, "message");
  read_sample(in);
  EXPECT_TRUE(in.at_end());
  in.expect_end();
}

TEST(Archive, IsLittleEndianWithTheLengthFirst) {
  ArchiveWriter out;
  out.put(std::vector<std::uint16_t>{0x0102});
  const Bytes expected{std::byte{1}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0},
                       std::byte{0}, std::byte{0}, std::byte{0}, std::byte{2}, std::byte{1}};
  EXPECT_EQ(out.bytes(), expected);
}

TEST(Archive, EveryTruncationPointIsAnError) {
  const Bytes bytes = sample_message();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::span<const std::byte> torn = std::span(bytes).first(length);
    ArchiveReader in(torn, "message");
    const std::string message = error_of(ErrorCode::invalid_data, [&] { read_sample(in); });
    EXPECT_TRUE(holds(message, "message: ")) << length;
  }
}

TEST(Archive, TrailingBytesAreAnError) {
  Bytes bytes = sample_message();
  bytes.push_back(std::byte{0});
  ArchiveReader in(bytes, "message");
  read_sample(in);
  EXPECT_EQ(error_of(ErrorCode::invalid_data, [&] { in.expect_end(); }),
            "message: 1 bytes too many at offset " + std::to_string(bytes.size() - 1));
}

TEST(Archive, HugeLengthsAreRefusedBeforeAnythingIsAllocated) {
  // A length that overflows when multiplied by the element size, one just beyond the end, and the largest of all.
  for (const std::uint64_t length : {std::uint64_t{1} << 61, std::uint64_t{2}, ~std::uint64_t{0}}) {
    ArchiveWriter out;
    out.put<std::uint64_t>(length);
    out.put<double>(1.0);
    ArchiveReader in(out.bytes(), "message");
    const std::string message = error_of(ErrorCode::invalid_data, [&] { (void)in.get_vector<double>(); });
    EXPECT_TRUE(holds(message, "exceeds the 8 bytes left"));
  }
}

TEST(Archive, ABooleanIsZeroOrOne) {
  ArchiveWriter out;
  out.put(true);
  out.put<std::uint8_t>(2);
  ArchiveReader in(out.bytes(), "message");
  EXPECT_TRUE(in.get<bool>());
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data, [&] { (void)in.get<bool>(); }), "must be 0 or 1, got 2"));
}

RC_GTEST_PROP(Archive, RoundTripsAnyValues, (const std::vector<double>& numbers, const std::string& text, int number)) {
  ArchiveWriter out;
  out.put(numbers);
  out.put(text);
  out.put(number);
  ArchiveReader in(out.bytes(), "message");
  RC_ASSERT(in.get_vector<double>() == numbers);
  RC_ASSERT(in.get_string() == text);
  RC_ASSERT(in.get<int>() == number);
  in.expect_end();
}

}  // namespace
}  // namespace feroma
