#include "src/data/own_dataset.h"

#include <gtest/gtest.h>

#include <cmath>

#include "feroma/core/files.h"
#include "feroma/core/npy.h"
#include "tests/data/idx_bytes.h"
#include "tests/data/own_folder_fixture.h"
#include "tests/data/picture_bytes.h"
#include "tests/data/zip_bytes.h"
#include "tests/expect_error.h"
#include "tests/places.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

class OwnDataset : public test::OwnFolder {
 protected:
  [[nodiscard]] std::shared_ptr<const Dataset> load() const { return load_dataset(folder_.string(), ""); }
  void refuses(ErrorCode code, std::string_view part) const {
    expect_error(code, part, [&] { return load(); });
  }
};

TEST_F(OwnDataset, ArraysWithTheirOwnTestFiles) {
  describe(
      "name = \"mine\"\nkind = \"npy\"\ninputs = \"x.npy\"\nlabels = \"y.npy\"\ndomains = \"d.npy\"\n"
      "test_inputs = \"tx.npy\"\ntest_labels = \"ty.npy\"\ntest_domains = \"d1.npy\"\nshape = \"2x1x2\"\n"
      "class_names = \"no, yes\"\n");
  put_floats("x.npy", {1, 2, 3, 4, 5, 6, 7, 8}, {2, 4});
  put_floats("y.npy", {0, 1}, {2});
  put_floats("d.npy", {1, 0}, {2});
  put_floats("tx.npy", {1, 2, 3, 4}, {1, 2, 2});
  put_floats("ty.npy", {1}, {1});
  put_floats("d1.npy", {0}, {1});
  const auto dataset = load();
  EXPECT_EQ(dataset->name, "mine");
  EXPECT_EQ(dataset->train.shape, (SampleShape{2, 1, 2}));
  EXPECT_EQ(dataset->train.values[4], 5);
  EXPECT_EQ(dataset->test.labels, std::vector<std::int32_t>{1});
  EXPECT_EQ(dataset->class_names, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(dataset->domain_names, (std::vector<std::string>{"0", "1"}));
}

TEST_F(OwnDataset, ColumnsOfTwoTablesGoByTheirNames) {
  describe("kind = \"csv\"\nfile = \"a.csv\"\ntest_file = \"b.csv\"\nlabel_column = \"y\"\n");
  put("a.csv", "x,w,y\n1,10,0\n2,20,1\n");
  put("b.csv", "w,y,x\n30,0,3\n40,1,4\n");
  const auto dataset = load();
  EXPECT_EQ(dataset->train.columns, (std::vector<std::string>{"x", "w"}));
  EXPECT_EQ(dataset->test.columns, dataset->train.columns);
  EXPECT_EQ(dataset->test.values, (std::vector<float>{3, 30, 4, 40}));
  put("b.csv", "w,y,v\n30,0,3\n");
  refuses(ErrorCode::invalid_data, "b.csv: must have a column \"x\" like the training data, got w, y, v");
}

TEST_F(OwnDataset, OneNpzWithSeveralLabelsPerSample) {
  describe("kind = \"npz\"\nfile = \"all.npz\"\ninputs = \"x\"\nlabels = \"y\"\ntest_fraction = 0.5\n");
  const std::vector<std::int64_t> wide{4, 2};
  put("all.npz", test::zip_bytes({{"x.npy", npy_bytes(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, wide)},
                                  {"y.npy", npy_bytes(std::vector<float>{1, 0, 0, 1, 1, 1, 0, 0}, wide)}}));
  const auto dataset = load();
  EXPECT_TRUE(dataset->train.multi_label());
  EXPECT_EQ(dataset->classes, 2);
  EXPECT_EQ(dataset->train.count(), 2U);
  describe("kind = \"npz\"\nfile = \"all.npz\"\ninputs = \"x\"\nlabels = \"z\"\n");
  refuses(ErrorCode::invalid_data, "dataset.labels must be one of x, y, got \"z\"");
}

TEST_F(OwnDataset, IdxFiles) {
  describe("kind = \"idx\"\ninputs = \"x\"\nlabels = \"y.gz\"\n");
  put("x", test::idx_bytes({4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  put("y.gz", test::gzip(test::idx_bytes({4}, {0, 0, 1, 1})));
  const auto dataset = load();
  EXPECT_EQ(dataset->train.pixels.size(), 4U);
  EXPECT_EQ(dataset->test.count(), 2U);
}

TEST_F(OwnDataset, ATableOfNumbersWithDomainsAndOwners) {
  describe(
      "kind = \"csv\"\nfile = \"all.csv\"\nlabel_column = \"species\"\ndomain_columns = \"site, year\"\n"
      "owner_column = \"who\"\nsplit = \"owner\"\ntest_fraction = 0.5\n");
  put("all.csv",
      "w,h,species,site,year,who\n1,2,cat,north,1,ann\n3,4,dog,south,1,bob\n5,6,cat,north,1,ann\n7,8,dog,south,1,bob\n"
      "9,10,dog,north,2,ann\n11,12,cat,north,2,bob\n");
  const auto dataset = load();
  EXPECT_EQ(dataset->class_names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(dataset->domain_names, (std::vector<std::string>{"north/1", "north/2", "south/1"}));
  EXPECT_EQ(dataset->train.shape, (SampleShape{1, 1, 2}));
  EXPECT_EQ(dataset->train.count(), 3U);
  EXPECT_NE(dataset->train.owners.front(), dataset->test.owners.front());
}

TEST_F(OwnDataset, TimesAmongTheInputsAreAQuestion) {
  const std::string answer = "dataset.input_columns must name the columns that models learn from in " +
                             (folder_ / "dataset.toml").string() + ", of x";
  const auto table = [&](const std::string& first, const std::string& second) {
    put("all.csv", "when,x,y\n" + first + ",1,0\n" + second + ",2,1\n" + first + ",3,0\n" + second + ",4,1\n");
  };
  describe("kind = \"csv\"\nfile = \"all.csv\"\nlabel_column = \"y\"\n");
  for (const std::string time : {"2013-03-01", "2016-04-01 00:00:07", "1.3.2013", "2013-03-01T10:00:00Z", "10:30"}) {
    table(time, time);
    refuses(ErrorCode::invalid_config, "all.csv: column \"when\" holds times (\"" + time + "\"); " + answer);
  }
  for (const auto& [first, second, unit] :
       std::vector<std::array<std::string, 3>>{{"1362096000", "1362099600", "seconds"},
                                               {"1362096000000", "1362099600000", "milliseconds"},
                                               {"1.3620960e18", "1362099600000000000", "nanoseconds"}}) {
    table(first, second);
    refuses(ErrorCode::invalid_config,
            "column \"when\" looks like times (Unix " + unit + ", \"" + first + "\"); " + answer);
  }
  table("north", "south");
  refuses(ErrorCode::invalid_config, "all.csv:2: column \"when\" must be a finite number, got \"north\"; " + answer);
  for (const auto& [first, second] :
       std::vector<std::pair<std::string, std::string>>{{"2013", "2014"}, {"-1.5", "2e9"}, {"600000000", "7"}}) {
    table(first, second);
    EXPECT_EQ(load()->train.shape.width, 2) << first;
  }
  describe("kind = \"csv\"\nfile = \"all.csv\"\nlabel_column = \"y\"\ninput_columns = \"when, x\"\n");
  table("1362096000", "1362099600");
  EXPECT_EQ(load()->train.shape.width, 2) << "whoever names it wants it";
}

TEST_F(OwnDataset, AQuantityIsNoClass) {
  const std::string start = "kind = \"csv\"\nfile = \"all.csv\"\nlabel_column = \"y\"\n";
  const auto table = [&](int rows, int values, const std::string& tail) {
    std::string text = "x,y\n";
    for (int i = 0; i < rows; ++i) {
      text += std::to_string(i % 3) + "," + std::to_string(i % values) + tail + "\n";
    }
    put("all.csv", text);
    describe(start);
  };
  table(600, 300, "");
  refuses(ErrorCode::invalid_data,
          "label_column y has 300 different values, 300 of them with fewer than 10 samples: if it "
          "is a quantity, make a few classes of it; if these are classes, dataset.classes (for "
          "labels from 0 on) or dataset.class_names must say so");
  describe(start + "classes = 300\n");
  EXPECT_EQ(load()->classes, 300) << "whoever says so is believed";
  table(100, 30, ".5");
  refuses(ErrorCode::invalid_data, "label_column y has 30 different values");
  table(3000, 120, ".5");
  refuses(ErrorCode::invalid_data, "label_column y has 120 different values, 0 of them with fewer than 10 samples");
  table(3000, 120, "");
  EXPECT_EQ(load()->classes, 120) << "each of them is there often enough";
  table(100, 30, "");
  EXPECT_EQ(load()->classes, 30) << "few whole numbers may be classes";
  table(600, 300, " rue de la Paix");
  EXPECT_EQ(load()->classes, 300) << "and so may words";
}

TEST_F(OwnDataset, ATableOfPictures) {
  describe(
      "kind = \"csv\"\nfile = \"all.csv\"\nlabel_column = \"ill, old\"\npicture_column = \"path\"\nchannels = 1\n"
      "image_size = 4\n");
  put("p/1.png", test::flat_png(4, 1));
  put("p/2.png", test::flat_png(9, 2));
  put("all.csv", "path,ill,old\np/1.png,1,0\np/2.png,0,1\n");
  const auto dataset = load();
  EXPECT_TRUE(dataset->train.multi_label());
  EXPECT_EQ(dataset->train.shape, (SampleShape{1, 4, 4}));
  put("all.csv", "path,ill,old\n../1.png,1,0\np/2.png,0,1\n");
  refuses(ErrorCode::invalid_data, "path must be a path below the folder, got \"../1.png\"");
}

TEST_F(OwnDataset, PicturesInClassFolders) {
  describe("kind = \"pictures\"\ndomain_folders = false\nimage_size = 3\nchannels = 1\n");
  for (const char* name : {"a/1.png", "a/2.png", "b/1.png", "b/2.png"}) {
    put(name, test::flat_png(6, 50));
  }
  const auto dataset = load();
  EXPECT_EQ(dataset->train.shape, (SampleShape{1, 3, 3}));
  EXPECT_TRUE(dataset->domain_names.empty());
}

TEST_F(OwnDataset, UnknownKeysAndValuesGetAHint) {
  const std::string file = (folder_ / "dataset.toml").string();
  describe("kind = \"npi\"\n");
  refuses(ErrorCode::invalid_config,
          file + ":2: dataset.kind must be one of npy, npz, idx, csv, pictures, got \"npi\"; did you mean");
  describe("kind = \"npy\"\ninput = \"x.npy\"\n");
  refuses(ErrorCode::invalid_config, file + ":3: unknown key dataset.input; did you mean dataset.inputs?");
  describe("image_size = 0\n");
  refuses(ErrorCode::invalid_config, file + ":2: dataset.image_size must be in 1..4096, got 0");
  describe("kind = \"csv\"\n");
  refuses(ErrorCode::invalid_config, file + ": dataset.file must be given for kind \"csv\", got nothing");
  describe("kind = \"csv\"\nfile = \"t.csv\"\nlabel_column = \" , \"\n");
  refuses(ErrorCode::invalid_config, file + ":4: dataset.label_column must be given for kind \"csv\", got nothing");
  describe("kind = \"npy\"\ninputs = \"x.npy\"\nlabels = \"y.npy\"\nshape = \"1x28\"\n");
  put_floats("x.npy", {1, 2}, {2, 1});
  put_floats("y.npy", {0, 1}, {2});
  refuses(ErrorCode::invalid_config, "dataset.shape must be CHANNELSxHEIGHTxWIDTH");
}

TEST_F(OwnDataset, ArraysThatDoNotFitAreRefusedByName) {
  describe("kind = \"npy\"\ninputs = \"x.npy\"\nlabels = \"y.npy\"\nclasses = 2\n");
  put_floats("x.npy", {1, 2, 3, 4}, {4, 1});
  put_floats("y.npy", {0, 1, 2, 0}, {4});
  refuses(ErrorCode::invalid_data, "y.npy: labels must be whole numbers in 0..1, got 2 in row 2");
  put_floats("y.npy", {0, 1, 0}, {3});
  refuses(ErrorCode::invalid_data, "y.npy: labels must be one per sample (4), got 1 dimensions and 3 values");
  put_floats("y.npy", {0, 0, 0, 0}, {4});
  refuses(ErrorCode::invalid_data, "training data must have at least two classes, got only class 0");
  put_floats("x.npy", {}, {0, 1});
  refuses(ErrorCode::invalid_data, "x.npy: must have at least one sample, got 0");
  put_floats("x.npy", {1, NAN, 3, 4}, {4, 1});
  put_floats("y.npy", {0, 1, 1, 0}, {4});
  refuses(ErrorCode::invalid_data, "x.npy: inputs must be finite 32-bit numbers, got nan in row 1");
  put_floats("y.npy", {-1, -1, -2, -1}, {4});
  refuses(ErrorCode::invalid_data, "y.npy: labels must be whole numbers in 0..1, got -1 in row 0");
  put("x.npy", read_file(test::source_file("fuzz/corpus/npy/object")));
  refuses(ErrorCode::invalid_data, "x.npy: element type must be |u1, <i4, <i8, <f4 or <f8, got |O");
}

TEST_F(OwnDataset, FilesStayBelowTheFolder) {
  describe("kind = \"npy\"\ninputs = \"../x.npy\"\nlabels = \"y.npy\"\n");
  refuses(ErrorCode::invalid_data, "dataset.inputs must be a path below the folder, got \"../x.npy\"");
}

TEST_F(OwnDataset, AFolderWithNothingSaysWhatIsMissing) {
  refuses(ErrorCode::invalid_data, "must have a dataset.toml or folders of pictures, got neither");
  expect_error(ErrorCode::invalid_config, "must be a folder with a dataset.toml or with pictures, got no folder",
               [&] { return load_dataset((folder_ / "absent").string(), ""); });
}

}  // namespace
}  // namespace feroma
