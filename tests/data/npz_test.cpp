#include "feroma/data/npz.h"

#include <gtest/gtest.h>

#include "feroma/core/files.h"
#include "tests/data/zip_bytes.h"
#include "tests/expect_error.h"
#include "tests/places.h"

namespace feroma {
namespace {

using test::zip_bytes;

Bytes array_bytes(const std::vector<float>& values) {
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(values.size())};
  return npy_bytes(values, shape);
}

void refuses_npz(const Bytes& bytes, std::string_view part) {
  expect_error(ErrorCode::invalid_data, part, [&] { return parse_npz(bytes, "a.npz"); });
}

Bytes kept_input(const std::string& name) { return read_file(test::source_file("fuzz/corpus/npz") / name); }

TEST(Npz, ReadsArraysByName) {
  const auto arrays = parse_npz(zip_bytes({{"x.npy", array_bytes({1, 2, 3})}, {"y.npy", array_bytes({4})}}), "a.npz");
  ASSERT_EQ(arrays.size(), 2U);
  EXPECT_EQ(arrays.at("x").as<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(arrays.at("y").shape, std::vector<std::int64_t>{1});
}

// Written by Python's zipfile, as NumPy's savez_compressed does.
TEST(Npz, ReadsDeflatedArrays) {
  const auto arrays = parse_npz(kept_input("deflated"), "a.npz");
  EXPECT_EQ(arrays.at("x").shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(arrays.at("y").type_name(), "i8");
}

TEST(Npz, RefusesNamesThatLeaveTheFolder) {
  refuses_npz(zip_bytes({{"../x.npy", array_bytes({1})}}),
              "names must be plain file names without folders, got \"../x.npy\"");
  refuses_npz(zip_bytes({{"/etc/x.npy", array_bytes({1})}}), "plain file names");
  refuses_npz(zip_bytes({{"sub/x.npy", array_bytes({1})}}), "plain file names");
  refuses_npz(zip_bytes({{"x.txt", array_bytes({1})}}), "names must end in .npy, got \"x.txt\"");
  refuses_npz(zip_bytes({{"x.npy", array_bytes({1})}, {"x.npy", array_bytes({1})}}),
              "names must differ, got \"x\" twice");
}

TEST(Npz, RefusesSizesThatLie) {
  refuses_npz(zip_bytes({{"x.npy", array_bytes({1}), 1 << 30}}), "must fit in");
  refuses_npz(zip_bytes({{"x.npy", array_bytes({1}), 200}}), "a.npz(x)");
  refuses_npz(zip_bytes({{"x.npy", array_bytes({1}), 10}}), "a.npz(x)");
}

TEST(Npz, RefusesWhatIsNoZipOrCutOff) {
  refuses_npz(Bytes(100, std::byte{'x'}), "must start with the zip magic PK");
  refuses_npz({}, "must start with the zip magic PK");
  refuses_npz(zip_bytes({}), "a.npz");
  const Bytes whole = zip_bytes({{"x.npy", array_bytes({1, 2, 3})}});
  for (std::size_t size = 0; size + 1 < whole.size(); ++size) {
    refuses_npz(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)), "a.npz");
  }
}

TEST(Npz, RefusesArraysThatWouldRunCode) {
  const Bytes object = read_file(test::source_file("fuzz/corpus/npy/object"));
  refuses_npz(zip_bytes({{"x.npy", object}}), "a.npz(x): element type must be |u1, <i4, <i8, <f4 or <f8, got |O");
}

}  // namespace
}  // namespace feroma
