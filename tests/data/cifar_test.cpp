#include "feroma/data/cifar.h"

#include <gtest/gtest.h>

#include "feroma/core/archive.h"
#include "feroma/core/files.h"
#include "src/data/origin.h"
#include "tests/data/picture_bytes.h"
#include "tests/data/synthetic.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

Bytes record(std::initializer_list<int> labels, int pixel) {
  Bytes bytes;
  for (const int label : labels) {
    bytes.push_back(static_cast<std::byte>(label));
  }
  bytes.resize(bytes.size() + 3072, static_cast<std::byte>(pixel));
  return bytes;
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void refuses_cifar(const Bytes& bytes, CifarLayout layout, std::string_view part) {
  Samples samples;
  expect_error(ErrorCode::invalid_data, part, [&] {
    append_cifar_(samples, bytes, "b.bin", layout);
    return 0;
  });
}

TEST(Cifar, ReadsRecordsOfBothLayouts) {
  Samples samples;
  append_cifar_(samples, record({3}, 7) + record({9}, 8), "b.bin", kCifar10);
  append_cifar_(samples, record({0}, 9), "c.bin", kCifar10);
  EXPECT_EQ(samples.labels, (std::vector<std::int32_t>{3, 9, 0}));
  EXPECT_EQ(samples.shape, (SampleShape{3, 32, 32}));
  ASSERT_EQ(samples.pixels.size(), 3U * 3072);
  EXPECT_EQ(samples.pixels[3072], 8);
  Samples fine;
  append_cifar_(fine, record({19, 99}, 1), "t.bin", kCifar100);
  EXPECT_EQ(fine.labels, std::vector<std::int32_t>{99});
}

TEST(Cifar, RefusesCutOffAndEmptyFiles) {
  Bytes cut = record({3}, 7) + record({9}, 8);
  cut.pop_back();
  refuses_cifar(cut, kCifar10,
                "b.bin: the size must be a multiple of 3073 bytes, got 6145: picture 1 is cut off at offset 3073");
  refuses_cifar({}, kCifar10, "b.bin: the file must hold at least one picture");
  refuses_cifar(record({3}, 7), kCifar100, "multiple of 3074 bytes");
}

TEST(Cifar, RefusesLabelsOutOfRangeByOffset) {
  refuses_cifar(record({3}, 7) + record({10}, 8), kCifar10, "b.bin: labels must be below 10, got 10 at offset 3073");
  refuses_cifar(record({0, 100}, 7), kCifar100, "b.bin: labels must be below 100, got 100 at offset 1");
}

TEST(CifarSheet, RefusesASheetOfAnotherSize) {
  const test::ScratchFolder scratch;
  std::string labels = "[0";
  for (int i = 1; i < 10'000; ++i) {
    labels += ",1";
  }
  write_file_atomically(scratch.path() / "test_lables.json", labels + "]");
  write_file_atomically(scratch.path() / "test_batch.png", test::flat_png(8, 1));
  expect_error(ErrorCode::invalid_data, "test_batch.png: the sheet must be 1024 x 10000 RGB pixels, got 8 x 8",
               [&] { return detail::cifar_batch_from_sheet(scratch.path(), "test_batch.bin"); });
  write_file_atomically(scratch.path() / "test_lables.json", std::string_view("[1,2"));
  expect_error(ErrorCode::invalid_data, "test_lables.json: must be a JSON list",
               [&] { return detail::cifar_batch_from_sheet(scratch.path(), "test_batch.bin"); });
}

}  // namespace
}  // namespace feroma
