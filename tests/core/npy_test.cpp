#include "feroma/core/npy.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstring>

#include "feroma/core/files.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"

namespace feroma {
namespace {

using test::error_of;
using test::holds;

Bytes to_bytes(std::string_view text) {
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// A version 1.0 file with this dictionary (padded as NumPy does) and data.
Bytes npy(std::string dictionary, std::string_view data) {
  dictionary.append((64 - (10 + dictionary.size() + 1) % 64) % 64, ' ');
  dictionary += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(dictionary.size() & 0xff);
  text += static_cast<char>(dictionary.size() >> 8);
  return to_bytes(text + dictionary + std::string(data));
}

std::string refusal(const Bytes& bytes) {
  return error_of(ErrorCode::invalid_data, [&] { (void)parse_npy(bytes, "x.npy"); });
}

TEST(Npy, WritesTheBytesThatNumPyWrites) {
  // numpy.save of array([[1.0, 2.0]], dtype='<f4'): 128 bytes of header, then the values.
  const Bytes bytes = npy_bytes(std::array{1.0F, 2.0F}, std::array<std::int64_t, 2>{1, 2});
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }";
  expected.append(127 - expected.size(), ' ');
  expected += '\n';
  expected += std::string("\x00\x00\x80\x3f\x00\x00\x00\x40", 8);
  EXPECT_EQ(bytes, to_bytes(expected));
}

TEST(Npy, ReadsEveryElementType) {
  const auto header = [](const std::string& type) {
    return "{'descr': '" + type + "', 'fortran_order': False, 'shape': (1,), }";
  };
  EXPECT_EQ(parse_npy(npy(header("|u1"), "\xfe"), "x").as<std::uint8_t>(), std::vector<std::uint8_t>{254});
  EXPECT_EQ(parse_npy(npy(header("<i4"), "\xff\xff\xff\xff"), "x").as<std::int32_t>(), std::vector<std::int32_t>{-1});
  EXPECT_EQ(parse_npy(npy(header("<i8"), std::string_view("\x05\0\0\0\0\0\0\0", 8)), "x").as<std::int64_t>(),
            std::vector<std::int64_t>{5});
  EXPECT_EQ(parse_npy(npy(header("<f4"), std::string_view("\0\0\xc0\x3f", 4)), "x").as<float>(),
            std::vector<float>{1.5F});
  const NpyArray wide = parse_npy(npy(header("<f8"), std::string_view("\0\0\0\0\0\0\xf8\x3f", 8)), "x");
  EXPECT_EQ(wide.as<double>(), std::vector<double>{1.5});
  EXPECT_EQ(wide.type_name(), "f8");
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data, [&] { (void)wide.as<float>(); }), "another element type (f8)"));
}

TEST(Npy, ReadsScalarsAndEmptyArrays) {
  const std::string start = "{'descr': '|u1', 'fortran_order': False, 'shape': ";
  EXPECT_EQ(parse_npy(npy(start + "(), }", "a"), "x").shape.size(), 0U);
  EXPECT_EQ(parse_npy(npy(start + "(0, 9223372036854775807), }", ""), "x").to_doubles().size(), 0U);
}

TEST(Npy, ReadsVersionTwo) {
  const std::string dictionary = "{'shape': (2,), 'fortran_order': False, 'descr': '|u1'}\n";
  std::string text("\x93NUMPY\x02\x00", 8);
  text += static_cast<char>(dictionary.size());
  text += std::string(3, '\0');
  EXPECT_EQ(parse_npy(to_bytes(text + dictionary + "ab"), "x").to_doubles(), (std::vector<double>{97, 98}));
}

TEST(Npy, RefusesWhatIsNotPlainData) {
  const auto with = [](const std::string& type, const std::string& order, const std::string& shape) {
    return npy("{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }", "abcdefgh");
  };
  EXPECT_TRUE(holds(refusal(with("|O", "False", "(1,)")), "got |O"));
  EXPECT_TRUE(holds(refusal(with(">f8", "False", "(1,)")), "got >f8"));
  EXPECT_TRUE(holds(refusal(with("<f2", "False", "(4,)")), "got <f2"));
  EXPECT_TRUE(holds(refusal(with("<f8", "True", "(1,)")), "Fortran order"));
  EXPECT_TRUE(holds(refusal(with("<f8", "Maybe", "(1,)")), "not what NumPy writes"));
  EXPECT_TRUE(holds(refusal(with("|u1", "False", "(1, 1, 1, 1, 8)")), "at most 4 dimensions, got 5"));
  EXPECT_TRUE(holds(refusal(with("|u1", "False", "(-8,)")), "dimension 0"));
  EXPECT_TRUE(holds(refusal(with("|u1", "False", "(8, 99999999999999999999)")), "dimension 1"));
  EXPECT_TRUE(holds(refusal(with("|u1", "False", "(4294967296, 4294967296, 8)")), "asks for more"));
  EXPECT_TRUE(holds(refusal(with("|u1", "False", "(7,)")), "asks for 7 bytes of data, the file has 8"));
  EXPECT_TRUE(holds(refusal(with("|u1", "False", "(9,)")), "asks for more than the 8 bytes"));
  EXPECT_TRUE(holds(refusal(with("<i8", "False", "(0,)")), "asks for 0 bytes of data, the file has 8"));
}

// numpy.asfortranarray(numpy.arange(12).reshape(2, 3, 2)): the first index runs fastest.
TEST(Npy, ReadsFortranOrderWhereItIsAskedFor) {
  const Bytes bytes = npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2), }",
                          std::string_view("\x00\x06\x02\x08\x04\x0a\x01\x07\x03\x09\x05\x0b", 12));
  const NpyArray array = parse_npy(bytes, "x", NpyOrder::any);
  EXPECT_EQ(array.as<std::uint8_t>(), (std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 3, 2}));
  EXPECT_TRUE(holds(refusal(bytes), "Fortran order"));
}

TEST(Npy, RefusesHeadersThatNumPyDoesNotWrite) {
  const std::vector<std::string> dictionaries{
      "",
      "{}",
      "{'descr': '|u1', 'fortran_order': False, }",
      "{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (1,), }",
      "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), 'more': 1}",
      "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), } x",
      "{'descr': '|u1, 'fortran_order': False, 'shape': (1,), }",
      "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
      "{'descr': '', 'fortran_order': False, 'shape': (1,), }",
      "{'descr': '|u1', 'fortran_order': False, 'shape': (1 1), }",
      "__import__('os')",
  };
  for (const std::string& dictionary : dictionaries) {
    EXPECT_TRUE(holds(refusal(npy(dictionary, "a")), "not what NumPy writes")) << dictionary;
  }
}

TEST(Npy, RefusesAHeaderLengthThatLies) {
  Bytes bytes = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", "a");
  bytes[9] = std::byte{0xff};
  EXPECT_TRUE(holds(refusal(bytes), "the array header claims"));
  bytes[6] = std::byte{3};
  EXPECT_TRUE(holds(refusal(bytes), "version must be 1.0 or 2.0, got 3.0"));
  bytes[0] = std::byte{'P'};
  EXPECT_EQ(refusal(bytes), "x.npy: is not a .npy file");
}

TEST(Npy, EveryTruncationPointIsAnError) {
  const Bytes bytes = npy_bytes(std::array{1.0, 2.0, 3.0}, std::array<std::int64_t, 2>{3, 1});
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    (void)refusal(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)));
  }
}

TEST(Npy, AShapeThatDoesNotFitTheValuesIsABug) {
  EXPECT_EQ(error_of(ErrorCode::internal,
                     [] {
                       (void)npy_bytes(std::array{1.0F, 2.0F}, std::array<std::int64_t, 2>{2, 2});
                     }),
            "[npy] the shape holds 4 values, got 2");
}

TEST(Npy, ReadsFilesByName) {
  const test::TempFolder folder;
  write_file_atomically(folder / "a.npy", npy_bytes(std::array{0.5, -1.0}, std::array<std::int64_t, 2>{2, 1}));
  const NpyArray array = read_npy(folder / "a.npy");
  EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(array.to_doubles(), (std::vector<double>{0.5, -1.0}));
}

RC_GTEST_PROP(Npy, RoundTripsAnyMatrix, (const std::vector<float>& values)) {
  const std::array<std::int64_t, 3> shape{1, static_cast<std::int64_t>(values.size()), 1};
  const NpyArray array = parse_npy(npy_bytes(values, shape), "x");
  RC_ASSERT(array.as<float>() == values);
  RC_ASSERT(std::equal(array.shape.begin(), array.shape.end(), shape.begin(), shape.end()));
}

RC_GTEST_PROP(Npy, AnyChangedByteIsReadOrRefusedButNeverWorse, (unsigned char value)) {
  Bytes bytes = npy_bytes(std::array{1.0F, 2.0F}, std::array<std::int64_t, 2>{1, 2});
  bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = std::byte{value};
  try {
    RC_ASSERT(parse_npy(bytes, "x").to_doubles().size() == 2U);
  } catch (const Error& error) {
    RC_ASSERT(error.code() == ErrorCode::invalid_data);
  }
}

}  // namespace
}  // namespace feroma
