#include <gtest/gtest.h>

#include <cmath>

#include "feroma/data/own_folder.h"
#include "tests/data/idx_bytes.h"
#include "tests/data/own_folder_fixture.h"
#include "tests/data/picture_bytes.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using Labels = std::vector<std::int32_t>;
using Names = std::vector<std::string>;

class OwnClient : public test::OwnFolder {
 protected:
  [[nodiscard]] std::shared_ptr<const Dataset> load() const { return read_own_folder(folder_, FolderRole::client); }
  void refuses(std::string_view part, ErrorCode code = ErrorCode::invalid_data) const {
    expect_error(code, part, [&] { return load(); });
  }
  /// Arrays of the given labels, with as many samples of one value.
  void put_arrays(const std::vector<float>& labels, const std::string& more = "") const {
    describe("kind = \"npy\"\ninputs = \"x.npy\"\nlabels = \"y.npy\"\n" + more);
    const auto count = static_cast<std::int64_t>(labels.size());
    std::vector<float> inputs;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      inputs.push_back(static_cast<float>(i));
    }
    put_floats("x.npy", inputs, {count, 1});
    put_floats("y.npy", labels, {count});
  }
  void put_pictures(const Names& names) const {
    for (const std::string& name : names) {
      put(name, test::flat_png(5, 50));
    }
  }
};

TEST_F(OwnClient, AllSamplesAreThereToTrainOnInTheirOrder) {
  put_arrays({0, 1, 0, 1, 1}, "test_fraction = 0.5\n");
  const auto dataset = load();
  EXPECT_EQ(dataset->train.labels, (Labels{0, 1, 0, 1, 1}));
  EXPECT_EQ(dataset->train.values, (std::vector<float>{0, 1, 2, 3, 4}));
  EXPECT_EQ(dataset->test.count(), 0U);
  EXPECT_TRUE(dataset->labelled);
  EXPECT_EQ(load_dataset(folder_.string(), "")->test.count(), 3U) << "a scenario still holds a part out";
}

TEST_F(OwnClient, NamedTestFilesStayTestData) {
  put_arrays({0, 1}, "test_inputs = \"tx.npy\"\ntest_labels = \"ty.npy\"\n");
  put_floats("tx.npy", {7}, {1, 1});
  put_floats("ty.npy", {1}, {1});
  EXPECT_EQ(load()->train.count(), 2U);
  EXPECT_EQ(load()->test.values, std::vector<float>{7});
}

TEST_F(OwnClient, OneClassWillDoWhereTheirNumberIsTold) {
  put_arrays({3, 3, 3}, "classes = 5\n");
  EXPECT_EQ(load()->classes, 5);
  EXPECT_EQ(load()->train.labels, (Labels{3, 3, 3}));
  put_arrays({1, 1}, "class_names = \"a, b, c\"\n");
  EXPECT_EQ(load()->classes, 3);
  put_arrays({3, 3, 3});
  refuses("dataset.class_names or dataset.classes must be given where only one class occurs, got only class 3");
  expect_error(ErrorCode::invalid_data, "must have at least two classes",
               [&] { return load_dataset(folder_.string(), ""); });
}

TEST_F(OwnClient, OneRecordIsEnough) {
  put_arrays({1}, "classes = 2\n");
  EXPECT_EQ(load()->train.count(), 1U);
}

TEST_F(OwnClient, LabelsOutsideAreRefusedWithFileRowAndValue) {
  put_arrays({0, 1, 2}, "classes = 2\n");
  refuses("y.npy: labels must be whole numbers in 0..1, got 2 in row 2");
  put_arrays({0, -1, 1}, "classes = 2\n");
  refuses("y.npy: labels must be whole numbers in 0..1, got -1 in row 1");
  put_arrays({-3, -1});
  refuses("y.npy: labels must be in 0..99999, got -1 in row 1");
  describe("kind = \"idx\"\ninputs = \"x\"\nlabels = \"y\"\nclasses = 3\n");
  put("x", test::idx_bytes({2, 1, 1}, {1, 2}));
  put("y", test::idx_bytes({2}, {0, 3}));
  refuses("y: labels must be whole numbers in 0..2, got 3 in row 1");
  describe("kind = \"csv\"\nfile = \"t.csv\"\nlabel_column = \"y\"\nclasses = 2\n");
  put("t.csv", "x,y\n1,0\n2,2\n");
  refuses("t.csv:3: column \"y\" must be in 0..1, got 2");
  describe("kind = \"csv\"\nfile = \"t.csv\"\nlabel_column = \"y\"\nclass_names = \"ill, well\"\n");
  put("t.csv", "x,y\n1,ill\n2,wel\n");
  refuses("t.csv:3: column \"y\" must be one of ill, well, got \"wel\"");
}

TEST_F(OwnClient, AMissingLabelColumnIsNamedWithThoseThereAre) {
  for (const std::string more : {"class_names = \"ill, well\"\n", "classes = 2\n", ""}) {
    describe("kind = \"csv\"\nfile = \"t.csv\"\nlabel_column = \"ill\"\n" + more);
    put("t.csv", "age,state\n31,ill\n40,well\n");  // the labels, which are no numbers, must not be taken for inputs
    refuses("t.csv: must have a column \"ill\", got age, state");
  }
}

TEST_F(OwnClient, InputsThatAreNotNumbersAreRefusedWithTheirPlace) {
  put_arrays({0, 1, 0});
  put_floats("x.npy", {1, 2, INFINITY}, {3, 1});
  refuses("x.npy: inputs must be finite 32-bit numbers, got inf in row 2");
  put("x.npy", npy_bytes(std::vector<double>{1, 1e300, 2}, std::vector<std::int64_t>{3, 1}));
  refuses("x.npy: inputs must be finite 32-bit numbers, got inf in row 1");
  describe("kind = \"csv\"\nfile = \"t.csv\"\nlabel_column = \"y\"\nclasses = 2\n");
  put("t.csv", "x,y\n1,0\nnan,1\n");
  refuses("t.csv:3: column \"x\" must be a finite number, got \"nan\"");
  put("t.csv", "x,y\n1e39,0\n2,1\n");
  refuses("t.csv:2: column \"x\" must fit into a 32-bit number, got 1e+39");
}

TEST_F(OwnClient, SamplesOfAnotherFormAreRefused) {
  describe("kind = \"npy\"\ninputs = \"x.npy\"\nlabels = \"y.npy\"\nclasses = 2\nshape = \"3x2x2\"\n");
  put_floats("y.npy", {0, 1}, {2});
  put_floats("x.npy", std::vector<float>(18), {2, 1, 3, 3});
  refuses("x.npy: samples must have the 12 values of shape 3x2x2, got 9");
  put_floats("x.npy", std::vector<float>(8), {2, 1, 2, 2});
  refuses("x.npy: samples must have the 12 values of shape 3x2x2, got 4");
  put_floats("x.npy", std::vector<float>(12), {1, 3, 2, 2});
  refuses("y.npy: labels must be one per sample (1), got 1 dimensions and 2 values");
}

TEST_F(OwnClient, NothingToTrainOnIsRefused) {
  refuses("must have a dataset.toml or folders of pictures, got neither");
  put_arrays({});
  refuses("x.npy: must have at least one sample, got 0");
  describe("kind = \"csv\"\nfile = \"t.csv\"\nlabel_column = \"y\"\nclasses = 2\n");
  put("t.csv", "x,y\n");
  refuses("t.csv: must have at least one row, got none");
  describe("kind = \"pictures\"\nclass_names = \"cat, dog\"\n");
  refuses("must hold .png or .jpg pictures in DOMAIN/CLASS folders, got none");
  expect_error(ErrorCode::invalid_config, "must be a folder with a dataset.toml or with pictures, got no folder",
               [&] { return read_own_folder(folder_ / "absent", FolderRole::client); });
}

TEST_F(OwnClient, ClassNamesNumberTheFoldersWhicheverAreThere) {
  describe("kind = \"pictures\"\ndomain_folders = false\nimage_size = 2\nclass_names = \"dog, ant, cat\"\n");
  put_pictures({"cat/1.png", "cat/2.png", "dog/1.png"});
  std::filesystem::create_directories(folder_ / "ant");
  const test::Warnings warnings;
  const auto dataset = load();
  EXPECT_EQ(warnings.text(), "");
  EXPECT_EQ(dataset->classes, 3);
  EXPECT_EQ(dataset->class_names, (Names{"dog", "ant", "cat"}));
  EXPECT_EQ(dataset->train.labels, (Labels{2, 2, 0}));
  EXPECT_EQ(dataset->sample_names, (Names{"cat/1.png", "cat/2.png", "dog/1.png"}));
  put_pictures({"cta/1.png"});
  refuses(
      "folders of classes must be named in dataset.class_names (dog, ant, cat), got \"cta\"; did you mean \"cat\"?");
}

TEST_F(OwnClient, DomainsMayLackClassesThatAreNamed) {
  describe("kind = \"pictures\"\nimage_size = 2\nclass_names = \"cat, dog\"\n");
  put_pictures({"north/dog/1.png", "south/cat/1.png", "south/dog/1.png"});
  const auto dataset = load();
  EXPECT_EQ(dataset->train.labels, (Labels{1, 0, 1}));
  EXPECT_EQ(dataset->train.domains, (Labels{0, 1, 1}));
  EXPECT_EQ(dataset->domain_names, (Names{"north", "south"}));
  describe("kind = \"pictures\"\nimage_size = 2\n");
  refuses("all domains must have the same classes; \"north\" and \"south\" differ in \"cat\"");
}

TEST_F(OwnClient, ATreeWithoutClassNamesIsReadWithAWarning) {
  put_pictures({"cat/1.png", "cat/2.png", "dog/1.png"});
  const test::Warnings warnings;
  EXPECT_EQ(load()->train.labels, (Labels{0, 0, 1}));
  EXPECT_NE(warnings.text().find("(cat, dog) are numbered by the names that occur in it"), std::string::npos)
      << warnings.text();
  EXPECT_NE(warnings.text().find("class_names should be given"), std::string::npos) << warnings.text();
}

TEST_F(OwnClient, ATreeOfOneClassNeedsItsNames) {
  put_pictures({"dog/1.png", "dog/2.png"});
  refuses("dataset.class_names or dataset.classes must be given where only one class occurs, got only class dog");
  describe("kind = \"pictures\"\ndomain_folders = false\nclasses = 2\n");
  refuses("dataset.classes is 2, but there are 1 folders of classes; dataset.class_names must tell");
  describe("kind = \"pictures\"\ndomain_folders = false\nclass_names = \"cat, dog\"\n");
  EXPECT_EQ(load()->train.labels, (Labels{1, 1}));
}

TEST_F(OwnClient, WordsOfATableAreNumberedWithAWarning) {
  describe("kind = \"csv\"\nfile = \"t.csv\"\nlabel_column = \"y\"\n");
  put("t.csv", "x,y\n1,well\n2,ill\n");
  const test::Warnings warnings;
  EXPECT_EQ(load()->train.labels, (Labels{1, 0}));
  EXPECT_NE(warnings.text().find("(ill, well) are numbered by the names that occur in it"), std::string::npos);
  put("t.csv", "x,y\n1,well\n2,\n");
  refuses("t.csv:3: column \"y\" must be one of well, got \"\"");
  put("t.csv", "x,y\n1,well\n2,well\n");
  refuses("must be given where only one class occurs, got only class well");
}

TEST_F(OwnClient, LargeInputsAreWarnedOfWhereNobodyScalesThem) {
  describe("kind = \"csv\"\nfile = \"t.csv\"\nlabel_column = \"y\"\nclass_names = \"0, 1\"\n");
  const auto warned = [&](const std::string& table) {
    put("t.csv", table);
    const test::Warnings reading;
    const auto dataset = load();
    EXPECT_EQ(reading.text(), "") << "who reads does not know what model will see them";
    const test::Warnings warnings;
    warn_of_large_inputs(dataset->train, folder_);
    return warnings.text();
  };
  EXPECT_EQ(warned("age,pressure,y\n0.3,-1.2,0\n-0.8,1.1,1\n0.2,0.1,0\n0.3,0.4,1\n"), "");
  const std::string large = warned("age,pressure,y\n6,120,0\n7,140,1\n6,120,0\n7,140,1\n");
  EXPECT_NE(large.find("its inputs are large (number 2 of a sample, pressure, has the root mean square 130)"),
            std::string::npos);
}

TEST_F(OwnClient, ClassNamesDiffer) {
  put_arrays({0, 1}, "class_names = \"a, b, a\"\n");
  refuses("dataset.class_names must differ, got \"a\" twice", ErrorCode::invalid_config);
}

TEST_F(OwnClient, DomainsOutsideTheirNamesAreRefused) {
  put_arrays({0, 1}, "domains = \"d.npy\"\ndomain_names = \"north\"\n");
  put_floats("d.npy", {0, 1}, {2});
  refuses("domains of the train split must be in 0..0, got 1 in sample 1");
}

}  // namespace
}  // namespace feroma
