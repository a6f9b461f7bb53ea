#include "feroma/data/picture.h"

#include <gtest/gtest.h>

#include "feroma/core/files.h"
#include "tests/data/picture_bytes.h"
#include "tests/expect_error.h"
#include "tests/places.h"

namespace feroma {
namespace {

using test::flat_png;
using test::png_bytes;

void refuses_picture(const Bytes& bytes, std::string_view part) {
  expect_error(ErrorCode::invalid_data, part, [&] { return decode_picture(bytes, "p"); });
}

Bytes kept_jpeg(const std::string& name) { return read_file(test::source_file("fuzz/corpus/jpeg") / name); }

Bytes first_bytes(const Bytes& bytes, std::size_t size) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}

TEST(Png, ReadsGrayAndColour) {
  const Picture gray = decode_picture(png_bytes(3, 2, 1, {0, 1, 2, 3, 4, 255}), "p");
  EXPECT_EQ(gray.width, 3);
  EXPECT_EQ(gray.height, 2);
  EXPECT_EQ(gray.channels, 1);
  EXPECT_EQ(gray.pixels, (std::vector<std::uint8_t>{0, 1, 2, 3, 4, 255}));
  const Picture colour = decode_picture(png_bytes(1, 2, 3, {9, 8, 7, 6, 5, 4}), "p");
  EXPECT_EQ(colour.channels, 3);
  EXPECT_EQ(colour.pixels, (std::vector<std::uint8_t>{9, 8, 7, 6, 5, 4}));
}

TEST(Png, RefusesHugeSizesBeforeTakingMemory) {
  refuses_picture(png_bytes(60'000, 60'000, 1, {1}),
                  "p: the size at offset 16 must be at most 33554432 pixels, got 60000 x 60000");
  refuses_picture(png_bytes(5'000, 5'000, 1, {1}), "5000 x 5000 pixels must fit in the file");
}

TEST(Png, RefusesEveryTruncation) {
  const Bytes whole = flat_png(4, 7);
  // The last chunk says nothing about the picture.
  constexpr std::size_t kEnd = 12;
  for (std::size_t size = 0; size + kEnd < whole.size(); ++size) {
    refuses_picture(first_bytes(whole, size), "p: ");
  }
}

TEST(Png, RefusesDamagedPixels) {
  Bytes bytes = flat_png(4, 7);
  bytes[bytes.size() - 12 - 6] ^= std::byte{0xff};
  refuses_picture(bytes, "p: the picture must be complete and intact");
}

TEST(Jpeg, ReadsGrayColourAndProgressive) {
  const Picture gray = decode_picture(kept_jpeg("gray"), "p");
  EXPECT_EQ(gray.width, 16);
  EXPECT_EQ(gray.height, 8);
  EXPECT_EQ(gray.channels, 1);
  EXPECT_EQ(gray.pixels.size(), 128U);
  EXPECT_EQ(decode_picture(kept_jpeg("rgb"), "p").channels, 3);
  EXPECT_EQ(decode_picture(kept_jpeg("progressive"), "p").width, 24);
}

TEST(Jpeg, RefusesTruncationAndOtherColours) {
  const Bytes whole = kept_jpeg("rgb");
  for (std::size_t size = 2; size + 2 < whole.size(); size += 7) {
    refuses_picture(first_bytes(whole, size), "p: ");
  }
  refuses_picture(kept_jpeg("cmyk"), "p: must be gray or RGB, got 4 colour components");
  refuses_picture(kept_jpeg("empty"), "p: the header must be intact");
}

TEST(Jpeg, RefusesHugeSizesBeforeTakingMemory) {
  Bytes bytes = kept_jpeg("gray");
  // The frame header: marker ffc0, length, precision, then height and width of two bytes each.
  for (std::size_t i = 0; i + 9 < bytes.size(); ++i) {
    if (bytes[i] == std::byte{0xff} && bytes[i + 1] == std::byte{0xc0}) {
      for (std::size_t k = 5; k < 9; ++k) {
        bytes[i + k] = std::byte{0xf0};
      }
      break;
    }
  }
  refuses_picture(bytes, "p: the size must be at most 33554432 pixels, got 61680 x 61680");
}

TEST(DecodePicture, RefusesOtherFiles) {
  refuses_picture(Bytes(20, std::byte{'G'}), "p: must start with the magic of PNG or JPEG at offset 0");
  refuses_picture({}, "p: must start with the magic");
}

TEST(Resize, AveragesAreasWhereItShrinks) {
  const Picture picture{.width = 4, .height = 2, .channels = 1, .pixels = {0, 2, 10, 20, 4, 6, 30, 40}};
  const Picture half = resized(picture, 2, 1);
  EXPECT_EQ(half.pixels, (std::vector<std::uint8_t>{3, 25}));
  // 3 columns into 2: each takes one and a half, (2 * 0 + 1 * 30) / 3 and (1 * 30 + 2 * 60) / 3.
  const Picture odd{.width = 3, .height = 1, .channels = 1, .pixels = {0, 30, 60}};
  EXPECT_EQ(resized(odd, 2, 1).pixels, (std::vector<std::uint8_t>{10, 50}));
}

TEST(Resize, InterpolatesWhereItGrows) {
  const Picture picture{.width = 2, .height = 1, .channels = 1, .pixels = {0, 100}};
  // Centres at -0.25, 0.25, 0.75 and 1.25 of the old axis; beyond the ends the edge holds.
  EXPECT_EQ(resized(picture, 4, 1).pixels, (std::vector<std::uint8_t>{0, 25, 75, 100}));
  const Picture dot{.width = 1, .height = 1, .channels = 3, .pixels = {1, 2, 3}};
  EXPECT_EQ(resized(dot, 1, 2).pixels, (std::vector<std::uint8_t>{1, 2, 3, 1, 2, 3}));
}

TEST(Resize, KeepsAFlatPictureFlatAtAnySize) {
  for (int from = 1; from < 40; from += 3) {
    const Picture flat{
        .width = from,
        .height = from,
        .channels = 1,
        .pixels = std::vector<std::uint8_t>(static_cast<std::size_t>(from) * static_cast<std::size_t>(from), 200)};
    for (int to = 1; to < 40; to += 5) {
      const Picture out = resized(flat, to, to);
      EXPECT_EQ(out.pixels, std::vector<std::uint8_t>(out.pixels.size(), 200)) << from << " to " << to;
    }
  }
}

TEST(Channels, GrayIsLumaAndBack) {
  const Picture colour{.width = 3, .height = 1, .channels = 3, .pixels = {255, 0, 0, 0, 255, 0, 255, 255, 255}};
  EXPECT_EQ(with_channels(colour, 1).pixels, (std::vector<std::uint8_t>{76, 150, 255}));
  const Picture gray{.width = 1, .height = 1, .channels = 1, .pixels = {9}};
  EXPECT_EQ(with_channels(gray, 3).pixels, (std::vector<std::uint8_t>{9, 9, 9}));
  std::vector<std::uint8_t> planar;
  append_planar_(planar, Picture{.width = 2, .height = 1, .channels = 3, .pixels = {1, 2, 3, 4, 5, 6}});
  EXPECT_EQ(planar, (std::vector<std::uint8_t>{1, 4, 2, 5, 3, 6}));
}

}  // namespace
}  // namespace feroma
