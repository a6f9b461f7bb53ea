#include "feroma/data/idx.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "feroma/core/files.h"
#include "tests/data/idx_bytes.h"
#include "tests/data/synthetic.h"

namespace feroma {
namespace {

using test::error_of;
using test::gzip;
using test::idx_bytes;

/// The message of the invalid_data error that parsing gives.
std::string refusal(const Bytes& bytes) {
  const Error error = error_of([&] { (void)parse_idx(bytes, "some-file"); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_data);
  EXPECT_NE(std::string(error.what()).find("some-file"), std::string::npos) << error.what();
  return error.what();
}

TEST(Idx, ReadsDimensionsAndValues) {
  const IdxFile file = parse_idx(idx_bytes({2, 1, 3}, {1, 2, 3, 4, 5, 255}), "file");
  EXPECT_EQ(file.dims, (std::vector<std::uint32_t>{2, 1, 3}));
  EXPECT_EQ(std::vector<std::uint8_t>(file.values().begin(), file.values().end()),
            (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 255}));
}

TEST(Idx, ReadsGzipByContentWhateverTheName) {
  const Bytes plain = idx_bytes({2, 1, 3}, {1, 2, 3, 4, 5, 255});
  const IdxFile file = parse_idx(gzip(plain), "file-without-suffix");
  EXPECT_EQ(file.content, parse_idx(plain, "file").content);
}

TEST(Idx, RefusesWrongMagic) {
  Bytes bytes = idx_bytes({1}, {7});
  bytes[0] = std::byte{0x50};
  EXPECT_NE(refusal(bytes).find("magic number at offset 0 must be 00 00 08 (unsigned bytes), got 50 00 08"),
            std::string::npos);
  bytes = idx_bytes({1}, {7});
  bytes[2] = std::byte{0x0D};  // floats
  EXPECT_NE(refusal(bytes).find("got 00 00 0d"), std::string::npos);
}

TEST(Idx, RefusesTooFewAndTooManyDimensions) {
  EXPECT_NE(refusal(idx_bytes({}, {7})).find("offset 3 must be in 1..4, got 0"), std::string::npos);
  EXPECT_NE(refusal(idx_bytes({1, 1, 1, 1, 1}, {7})).find("offset 3 must be in 1..4, got 5"), std::string::npos);
}

TEST(Idx, RefusesZeroDimensions) {
  EXPECT_NE(refusal(idx_bytes({3, 0, 2}, {})).find("dimension at offset 8 must be >= 1, got 0"), std::string::npos);
}

TEST(Idx, RefusesDimensionsWhoseProductOverflows) {
  // 2^32 x 2^32 would be 0 in 64 bits.
  const std::string message = refusal(idx_bytes({0x80000000U, 0x80000000U, 4}, {1, 2, 3, 4}));
  EXPECT_NE(message.find("at most 1073741824 values, got 1 x 2147483648 at offset 4"), std::string::npos) << message;
  EXPECT_NE(refusal(idx_bytes({0x10000U, 0x10000U, 0x10000U, 0x10000U}, {})).find("at offset 8"), std::string::npos);
}

TEST(Idx, RefusesACountLargerThanTheFile) {
  EXPECT_NE(refusal(idx_bytes({1000}, {1, 2, 3})).find("declares 1000 values, got at most 3 bytes from offset 8"),
            std::string::npos);
}

TEST(Idx, RefusesACountThatNoGzipFileOfThatSizeCanHold) {
  const Bytes small = gzip(idx_bytes({1'000'000'000}, {1, 2, 3}));
  ASSERT_LT(small.size(), 100U);
  EXPECT_NE(refusal(small).find("declares 1000000000 values, got at most"), std::string::npos);
}

TEST(Idx, RefusesEveryTruncation) {
  const Bytes plain = idx_bytes({2, 2}, {9, 8, 7, 6});
  const Bytes packed = gzip(plain);
  for (const Bytes& whole : {plain, packed}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      (void)refusal(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
    }
  }
}

TEST(Idx, RefusesATruncatedGzipWithTheOffsetInTheContent) {
  // Incompressible content of 2 x 500 values, cut in the middle.
  std::vector<std::uint8_t> values;
  std::uint32_t state = 1;
  for (int i = 0; i < 1000; ++i) {
    state = state * 1664525U + 1013904223U;
    values.push_back(static_cast<std::uint8_t>(state >> 24));
  }
  Bytes packed = gzip(idx_bytes({2, 500}, values));
  packed.resize(packed.size() / 2);
  EXPECT_NE(refusal(packed).find("1012 bytes must follow from the header, got a file truncated at offset"),
            std::string::npos);
}

TEST(Idx, RefusesTrailingBytes) {
  Bytes plain = idx_bytes({2}, {1, 2});
  plain.push_back(std::byte{0});
  EXPECT_NE(refusal(plain).find("must end after 10 bytes, got trailing bytes"), std::string::npos);
  EXPECT_NE(refusal(gzip(plain)).find("must end after 10 bytes, got trailing bytes"), std::string::npos);
}

TEST(Idx, RefusesBytesBehindTheGzipStream) {
  Bytes packed = gzip(idx_bytes({2}, {1, 2}));
  packed.insert(packed.end(), 5, std::byte{0});
  EXPECT_NE(refusal(packed).find("must end with its gzip stream, got 5 trailing bytes"), std::string::npos);
}

TEST(Idx, RefusesAGzipBombWithoutInflatingIt) {
  // 16 MiB of zeros behind a header that declares four of them.
  const Bytes bomb = gzip(idx_bytes({4}, std::vector<std::uint8_t>(std::size_t{16} << 20, 0)));
  ASSERT_LT(bomb.size(), std::size_t{1} << 15);
  EXPECT_NE(refusal(bomb).find("must end after 12 bytes, got trailing bytes"), std::string::npos);
}

TEST(Idx, RefusesAGzipChecksumThatDoesNotMatch) {
  Bytes packed = gzip(idx_bytes({2}, {1, 2}));
  packed[packed.size() - 8] ^= std::byte{1};  // first byte of the CRC
  EXPECT_NE(refusal(packed).find("incorrect data check"), std::string::npos);
}

TEST(Idx, RefusesDimensionsOtherThanExpected) {
  const std::vector<std::uint32_t> expected{3, 1};
  const Error error = error_of([&] { (void)parse_idx(idx_bytes({2, 1}, {1, 2}), "some-file", expected); });
  EXPECT_STREQ(error.what(), "[idx] some-file: the dimensions at offset 4 must be 3 x 1, got 2 x 1");
}

RC_GTEST_PROP(IdxProperty, AnyBytesGiveAFileOrAnInvalidDataError, ()) {
  // Half of the cases start as a valid file so that mutations reach beyond the header.
  Bytes bytes;
  const auto noise = *rc::gen::arbitrary<std::vector<std::uint8_t>>();
  if (*rc::gen::arbitrary<bool>()) {
    bytes = idx_bytes({static_cast<std::uint32_t>(noise.size()), 1}, noise);
    if (*rc::gen::arbitrary<bool>()) {
      bytes = gzip(bytes);
    }
    const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
    bytes[at] ^= static_cast<std::byte>(*rc::gen::arbitrary<std::uint8_t>());
  } else {
    bytes = Bytes(reinterpret_cast<const std::byte*>(noise.data()),
                  reinterpret_cast<const std::byte*>(noise.data()) + noise.size());
  }
  try {
    const IdxFile file = parse_idx(bytes, "file");
    RC_ASSERT(!file.values().empty());
  } catch (const Error& error) {
    RC_ASSERT(error.code() == ErrorCode::invalid_data);
  }
}

class IdxSamples : public testing::Test {
 protected:
  Samples read(const Bytes& images, const Bytes& labels) {
    write_file_atomically(folder_.path() / "images", images);
    write_file_atomically(folder_.path() / "labels", labels);
    return read_idx_samples(folder_.path() / "images", folder_.path() / "labels", {1, 1, 2}, 3);
  }
  std::string refusal(const Bytes& images, const Bytes& labels) {
    const Error error = error_of([&] { (void)read(images, labels); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_data);
    return error.what();
  }
  test::ScratchFolder folder_;
};

TEST_F(IdxSamples, PairPicturesWithLabels) {
  const Samples samples = read(idx_bytes({2, 1, 2}, {1, 2, 3, 4}), gzip(idx_bytes({2}, {0, 2})));
  EXPECT_EQ(samples.count(), 2U);
  EXPECT_EQ(samples.shape, (SampleShape{1, 1, 2}));
  EXPECT_EQ(samples.pixels, (std::vector<std::uint8_t>{1, 2, 3, 4}));
  EXPECT_EQ(samples.labels, (std::vector<std::int32_t>{0, 2}));
}

TEST_F(IdxSamples, RefuseLabelsOutOfRange) {
  const std::string message = refusal(idx_bytes({2, 1, 2}, {1, 2, 3, 4}), idx_bytes({2}, {0, 3}));
  EXPECT_NE(message.find("labels: labels must be below 3, got 3 at offset 9"), std::string::npos) << message;
}

TEST_F(IdxSamples, RefuseCountsThatDiffer) {
  const std::string message = refusal(idx_bytes({2, 1, 2}, {1, 2, 3, 4}), idx_bytes({3}, {0, 1, 2}));
  EXPECT_NE(message.find("images: the dimensions at offset 4 must be 3 x 1 x 2, got 2 x 1 x 2"), std::string::npos)
      << message;
}

TEST_F(IdxSamples, RefusePicturesOfAnotherSize) {
  EXPECT_NE(refusal(idx_bytes({1, 2, 1}, {1, 2}), idx_bytes({1}, {0})).find("must be 1 x 1 x 2, got 1 x 2 x 1"),
            std::string::npos);
}

TEST_F(IdxSamples, RefuseLabelsWithTwoDimensions) {
  EXPECT_NE(refusal(idx_bytes({1, 1, 2}, {1, 2}), idx_bytes({1, 1}, {0})).find("labels must have 1 dimension, got 2"),
            std::string::npos);
}

TEST_F(IdxSamples, AMissingFileIsAnIoErrorNamingIt) {
  const Error error = error_of([&] {
    (void)read_idx_samples(folder_.path() / "nothing", folder_.path() / "no-labels", {1, 1, 2}, 3);
  });
  EXPECT_EQ(error.code(), ErrorCode::io);
  EXPECT_NE(std::string(error.what()).find("no-labels"), std::string::npos);
}

}  // namespace
}  // namespace feroma
