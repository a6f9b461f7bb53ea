#include <gtest/gtest.h>

#include "feroma/data/catalog.h"
#include "feroma/data/own_folder.h"
#include "feroma/data/visitor.h"
#include "tests/data/idx_bytes.h"
#include "tests/data/own_folder_fixture.h"
#include "tests/data/picture_bytes.h"
#include "tests/data/zip_bytes.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using Labels = std::vector<std::int32_t>;
using Names = std::vector<std::string>;
using Rows = std::vector<std::uint32_t>;

class OwnVisitor : public test::OwnFolder {
 protected:
  [[nodiscard]] VisitorData load() const { return read_visitor_data(folder_); }
  void refuses(std::string_view part) const {
    expect_error(ErrorCode::invalid_data, part, [&] { return load(); });
  }
  /// Arrays that need not have labels.
  void put_inputs(std::int64_t count, const std::string& more = "") const {
    describe("kind = \"npy\"\ninputs = \"x.npy\"\n" + more);
    std::vector<float> inputs;
    for (std::int64_t i = 0; i < count; ++i) {
      inputs.push_back(static_cast<float>(i));
    }
    put_floats("x.npy", inputs, {count, 1});
  }
  void put_pictures(const Names& names) const {
    std::uint8_t gray = 10;
    for (const std::string& name : names) {
      put(name, test::flat_png(5, gray));
      gray = static_cast<std::uint8_t>(gray + 10);
    }
  }
  /// No sample has a label, and all of them are in the view.
  static void expect_unlabelled(const VisitorData& visitor, std::size_t count) {
    EXPECT_FALSE(visitor.dataset->labelled);
    EXPECT_EQ(visitor.dataset->labelled_rows, Rows{});
    EXPECT_EQ(visitor.dataset->train.labels, Labels(count, 0));
    EXPECT_EQ(visitor.dataset->test.count(), 0U);
    EXPECT_EQ(visitor.all.size(), count);
    EXPECT_EQ(visitor.labelled.size(), 0U);
  }
};

TEST_F(OwnVisitor, ArraysNeedNoLabels) {
  put_inputs(3);
  expect_unlabelled(load(), 3);
  EXPECT_EQ(load().dataset->classes, 1);
  EXPECT_TRUE(load().dataset->sample_names.empty());
  put_inputs(3, "classes = 7\n");
  EXPECT_EQ(load().dataset->classes, 7);
  describe("kind = \"npz\"\nfile = \"all.npz\"\ninputs = \"x\"\n");
  put("all.npz", test::zip_bytes({{"x.npy", npy_bytes(std::vector<float>{1, 2}, std::vector<std::int64_t>{2, 1})}}));
  expect_unlabelled(load(), 2);
  describe("kind = \"idx\"\ninputs = \"x\"\n");
  put("x", test::idx_bytes({2, 1, 2}, {1, 2, 3, 4}));
  expect_unlabelled(load(), 2);
}

TEST_F(OwnVisitor, OthersNeedLabels) {
  put_inputs(3);
  expect_error(ErrorCode::invalid_config, "dataset.labels must be given for kind \"npy\", got nothing",
               [&] { return load_dataset(folder_.string(), ""); });
}

TEST_F(OwnVisitor, LabelsAreKeptAndSamplesStayInOrder) {
  put_inputs(4, "labels = \"y.npy\"\ntest_inputs = \"absent.npy\"\ntest_labels = \"absent.npy\"\n");
  put_floats("y.npy", {2, 0, 2, 1}, {4});
  const VisitorData visitor = load();
  EXPECT_TRUE(visitor.dataset->labelled);
  EXPECT_EQ(visitor.dataset->labelled_rows, (Rows{0, 1, 2, 3}));
  EXPECT_EQ(visitor.dataset->classes, 3);
  const Batch batch = assemble(visitor.all, Rows{0, 1, 2, 3}, BatchLayout::sample_major);
  EXPECT_EQ(batch.labels, (Labels{2, 0, 2, 1}));
  EXPECT_EQ(std::vector<float>(batch.inputs.begin(), batch.inputs.end()), (std::vector<float>{0, 1, 2, 3}));
}

TEST_F(OwnVisitor, MinusOneInAnArrayIsNoLabel) {
  put_inputs(4, "labels = \"y.npy\"\nclasses = 5\n");
  put_floats("y.npy", {-1, 4, -1, 0}, {4});
  const VisitorData visitor = load();
  EXPECT_FALSE(visitor.dataset->labelled);
  EXPECT_EQ(visitor.dataset->labelled_rows, (Rows{1, 3}));
  EXPECT_EQ(visitor.dataset->train.labels, (Labels{0, 4, 0, 0}));
  ASSERT_EQ(visitor.labelled.size(), 2U);
  EXPECT_EQ(visitor.labelled.label(0), 4);
  EXPECT_EQ(visitor.labelled.items[1].source, 3U);
  EXPECT_EQ(visitor.all.size(), 4U);
  put_floats("y.npy", {-1, -1, -1, -1}, {4});
  expect_unlabelled(load(), 4);
  put_floats("y.npy", {-1, -2, 0, 0}, {4});
  refuses("y.npy: labels must be whole numbers in 0..4, got -2 in row 1");
  put_floats("y.npy", {-1, 5, 0, 0}, {4});
  refuses("y.npy: labels must be whole numbers in 0..4, got 5 in row 1");
  put_floats("y.npy", {-1, 0, 0}, {3});
  refuses("y.npy: labels must be one per sample (4), got 1 dimensions and 3 values");
}

TEST_F(OwnVisitor, RowsOfSeveralLabelsMayBeAbsentAsAWhole) {
  put_inputs(3, "labels = \"y.npy\"\n");
  put_floats("y.npy", {1, 0, -1, -1, 1, 1}, {3, 2});
  const VisitorData visitor = load();
  EXPECT_EQ(visitor.dataset->labelled_rows, (Rows{0, 2}));
  EXPECT_EQ(visitor.dataset->train.targets, (std::vector<std::uint8_t>{1, 0, 0, 0, 1, 1}));
  put_floats("y.npy", {1, 0, -1, 0, 1, 1}, {3, 2});
  refuses("y.npy: labels must be 0 or 1, got -1 in row 1");
}

TEST_F(OwnVisitor, ATableNeedsNoLabelColumn) {
  describe("kind = \"csv\"\nfile = \"t.csv\"\n");
  put("t.csv", "w,h\n1,2\n3,4\n5,6\n");
  expect_unlabelled(load(), 3);
  EXPECT_EQ(load().dataset->train.values, (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(OwnVisitor, AnEmptyCellIsNoLabel) {
  describe("kind = \"csv\"\nfile = \"t.csv\"\nlabel_column = \"y\"\nclass_names = \"ill, well\"\n");
  put("t.csv", "x,y\n1,\n2,well\n3,\n4,ill\n");
  const VisitorData visitor = load();
  EXPECT_EQ(visitor.dataset->labelled_rows, (Rows{1, 3}));
  EXPECT_EQ(visitor.dataset->train.labels, (Labels{0, 1, 0, 0}));
  EXPECT_EQ(visitor.labelled.label(0), 1);
  EXPECT_FALSE(visitor.dataset->labelled);
  describe("kind = \"csv\"\nfile = \"t.csv\"\nlabel_column = \"a, b\"\n");
  put("t.csv", "x,a,b\n1,,\n2,0,1\n");
  EXPECT_EQ(load().dataset->labelled_rows, Rows{1});
  EXPECT_EQ(load().dataset->train.targets, (std::vector<std::uint8_t>{0, 0, 0, 1}));
  put("t.csv", "x,a,b\n1,,1\n2,0,1\n");
  refuses("t.csv:2: column \"a\" must be a whole number, got \"\"");
}

TEST_F(OwnVisitor, OneWordAloneHasNoNumber) {
  describe("kind = \"csv\"\nfile = \"t.csv\"\nlabel_column = \"y\"\n");
  put("t.csv", "x,y\n1,\n2,well\n");
  refuses("dataset.class_names or dataset.classes must be given where only one class occurs, got only class well");
  put("t.csv", "x,y\n1,\n2,\n");
  expect_unlabelled(load(), 2);
  put("t.csv", "x,y\n1,ill\n2,well\n");
  const test::Warnings warnings;
  EXPECT_EQ(load().dataset->train.labels, (Labels{0, 1}));
  EXPECT_NE(warnings.text().find("class_names should be given"), std::string::npos) << warnings.text();
}

TEST_F(OwnVisitor, WordsHaveTheNumbersOfTheModel) {
  const DataNames model{{}, {"mild", "severe", "none"}};
  const std::string table = "kind = \"csv\"\nfile = \"t.csv\"\nlabel_column = \"y\"\n";
  put("t.csv", "x,y\n1,severe\n2,none\n3,\n4,severe\n");
  const test::Warnings warnings;
  for (const std::string more : {"", "class_names = \"none, severe\"\n", "class_names = \"severe, other, none\"\n"}) {
    describe(table + more);
    const VisitorData visitor = read_visitor_data(folder_, model);
    EXPECT_EQ(visitor.dataset->train.labels, (Labels{1, 2, 0, 1})) << more;
    EXPECT_EQ(visitor.dataset->labelled_rows, (Rows{0, 1, 3}));
    EXPECT_EQ(visitor.dataset->class_names, model.classes);
    EXPECT_EQ(visitor.dataset->classes, 3);
  }
  EXPECT_EQ(warnings.text(), "") << "somebody numbers them";
  put("t.csv", "x,y\n1,none\n2,none\n");
  EXPECT_EQ(read_visitor_data(folder_, model).dataset->train.labels, (Labels{2, 2})) << "one class will do";
  put("t.csv", "x,y\n1,none\n2,dire\n");
  expect_error(ErrorCode::invalid_data,
               "t.csv:3: column \"y\" must be one of the model's classes mild, severe, none, got \"dire\"",
               [&] { return read_visitor_data(folder_, model); });
}

TEST_F(OwnVisitor, NumbersAreWordsWhereTheModelKnowsThemAsSuch) {
  describe("kind = \"csv\"\nfile = \"t.csv\"\nlabel_column = \"y\"\nclasses = 3\n");
  put("t.csv", "x,y\n1,2\n2,1\n");
  EXPECT_EQ(read_visitor_data(folder_, {{}, {"0", "2", "1"}}).dataset->train.labels, (Labels{1, 2}));
  EXPECT_EQ(read_visitor_data(folder_, {{}, {"a", "b", "c"}}).dataset->train.labels, (Labels{2, 1}));
  put_inputs(3, "labels = \"y.npy\"\n");
  put_floats("y.npy", {2, -1, 0}, {3});
  EXPECT_EQ(read_visitor_data(folder_, {{}, {"c", "b", "a"}}).dataset->train.labels, (Labels{2, 0, 0}));
  put_inputs(3, "labels = \"y.npy\"\nclass_names = \"a, d, c\"\n");
  EXPECT_EQ(read_visitor_data(folder_, {{}, {"c", "b", "a"}}).dataset->train.labels, (Labels{0, 0, 2}));
  put_floats("y.npy", {2, -1, 1}, {3});
  expect_error(ErrorCode::invalid_data, "y.npy: labels must be of the model's classes c, b, a, got 1 (\"d\") in row 2",
               [&] {
                 return read_visitor_data(folder_, {{}, {"c", "b", "a"}});
               });
}

TEST_F(OwnVisitor, SeveralLabelsComeIntoTheOrderOfTheModel) {
  const DataNames model{{}, {"a", "b"}};
  describe("kind = \"csv\"\nfile = \"t.csv\"\nlabel_column = \"b, a\"\n");
  put("t.csv", "x,b,a\n1,1,0\n2,,\n");
  EXPECT_EQ(read_visitor_data(folder_, model).dataset->train.targets, (std::vector<std::uint8_t>{0, 1, 0, 0}));
  expect_error(ErrorCode::invalid_data, "dataset.label_column must name the model's classes a, c, got b, a", [&] {
    return read_visitor_data(folder_, {{}, {"a", "c"}});
  });
  put_inputs(2, "labels = \"y.npy\"\nclass_names = \"b, a\"\n");
  put_floats("y.npy", {1, 0, -1, -1}, {2, 2});
  EXPECT_EQ(read_visitor_data(folder_, model).dataset->train.targets, (std::vector<std::uint8_t>{0, 1, 0, 0}));
}

TEST_F(OwnVisitor, FoldersOfClassesHaveTheNumbersOfTheModel) {
  describe("kind = \"pictures\"\ndomain_folders = false\nimage_size = 2\nclass_names = \"dog, cat\"\n");
  put_pictures({"cat/1.png", "dog/1.png"});
  EXPECT_EQ(read_visitor_data(folder_, {{}, {"cat", "cow", "dog"}}).dataset->train.labels, (Labels{0, 2}));
  expect_error(ErrorCode::invalid_data,
               "folders of classes must be classes that the model knows (cow, dog), got \"cat\"", [&] {
                 return read_visitor_data(folder_, {{}, {"cow", "dog"}});
               });
}

TEST_F(OwnVisitor, ATableGivesTheColumnsOfTheModel) {
  describe("kind = \"csv\"\nfile = \"t.csv\"\n");
  put("t.csv", "when,w,h,name\n2013-03-01,1,2,x\n2013-03-02,3,4,y\n");
  const VisitorData visitor = read_visitor_data(folder_, {{"h", "w"}, {}});
  EXPECT_EQ(visitor.dataset->train.values, (std::vector<float>{2, 1, 4, 3}));
  EXPECT_EQ(visitor.dataset->train.columns, (Names{"h", "w"}));
  expect_error(ErrorCode::invalid_data, "t.csv: must have a column \"d\" like the training data, got when, w, h, name",
               [&] {
                 return read_visitor_data(folder_, {{"h", "w", "d"}, {}});
               });
  describe("kind = \"csv\"\nfile = \"t.csv\"\ninput_columns = \"w, h\"\n");
  EXPECT_EQ(read_visitor_data(folder_, {{"h"}, {}}).dataset->train.values, (std::vector<float>{2, 4}));
}

TEST_F(OwnVisitor, PicturesMayLieAnywhereAndAreSortedByPath) {
  put_pictures({"b.png", "a/2.png", "a/1.png", ".hidden.png", ".cache/x.png", "c/d/e.PNG", "b.jpg"});
  put("notes.txt", "no picture");
  const VisitorData visitor = load();
  expect_unlabelled(visitor, 5);
  EXPECT_EQ(visitor.dataset->sample_names, (Names{"a/1.png", "a/2.png", "b.jpg", "b.png", "c/d/e.PNG"}));
  EXPECT_EQ(visitor.dataset->train.shape, (SampleShape{3, 64, 64}));
  const std::vector<std::uint8_t>& pixels = visitor.dataset->train.pixels;
  EXPECT_EQ(static_cast<int>(pixels.front()), 30) << "the third that was written";
  EXPECT_EQ(static_cast<int>(pixels.back()), 60);
  EXPECT_EQ(read_visitor_data(folder_ / "").dataset->sample_names, visitor.dataset->sample_names);
}

TEST_F(OwnVisitor, FoldersAreClassesWhereClassNamesSaySo) {
  describe("kind = \"pictures\"\ndomain_folders = false\nimage_size = 2\nchannels = 1\nclass_names = \"dog, cat\"\n");
  put_pictures({"cat/1.png", "new.png", "dog/1.png"});
  const VisitorData visitor = load();
  EXPECT_EQ(visitor.dataset->sample_names, (Names{"cat/1.png", "dog/1.png", "new.png"}));
  EXPECT_EQ(visitor.dataset->train.labels, (Labels{1, 0, 0}));
  EXPECT_EQ(visitor.dataset->labelled_rows, (Rows{0, 1}));
  EXPECT_EQ(visitor.dataset->train.shape, (SampleShape{1, 2, 2}));
  put_pictures({"dig/1.png"});
  refuses("folders of classes must be named in dataset.class_names (dog, cat), got \"dig\"; did you mean \"dog\"?");
}

TEST_F(OwnVisitor, DomainFoldersAreNotClasses) {
  describe("kind = \"pictures\"\nimage_size = 2\nclass_names = \"cat, dog\"\n");
  put_pictures({"north/dog/1.png", "north/2.png"});
  EXPECT_EQ(load().dataset->labelled_rows, Rows{1});
  EXPECT_EQ(load().dataset->train.labels, (Labels{0, 1}));
  std::filesystem::remove_all(folder_ / "north");
  put_pictures({"dog/1.png"});
  const test::Warnings warnings;
  expect_unlabelled(load(), 1);
  EXPECT_NE(warnings.text().find("no picture lies in a DOMAIN/CLASS folder"), std::string::npos) << warnings.text();
}

TEST_F(OwnVisitor, ATableOfPicturesGivesTheirPaths) {
  describe("kind = \"csv\"\nfile = \"t.csv\"\npicture_column = \"path\"\nimage_size = 2\nchannels = 1\n");
  put_pictures({"p/1.png", "p/2.png"});
  put("t.csv", "path\np/2.png\np/1.png\n");
  expect_unlabelled(load(), 2);
  EXPECT_EQ(load().dataset->sample_names, (Names{"p/2.png", "p/1.png"}));
}

TEST_F(OwnVisitor, NothingToServeIsRefused) {
  refuses("must hold .png or .jpg pictures, got none");
  put_inputs(0);
  refuses("x.npy: must have at least one sample, got 0");
  put_floats("x.npy", {}, {1'000'000'000'000, 0});
  refuses("x.npy: a sample must have 1..1048576 values, got dimension 1 of 0");
  describe("kind = \"csv\"\nfile = \"t.csv\"\n");
  put("t.csv", "w,h\n");
  refuses("t.csv: must have at least one row, got none");
  expect_error(ErrorCode::invalid_config, "must be a folder with a dataset.toml or with pictures, got no folder",
               [&] { return read_visitor_data("fmnist"); });
}

TEST_F(OwnVisitor, ATableAloneIsToldWhatToWrite) {
  put("visits.csv", "x,y\n1,2\n");
  for (const FolderRole role : {FolderRole::visitor, FolderRole::client, FolderRole::scenario}) {
    expect_error(ErrorCode::invalid_config,
                 "the table visits.csv must have a dataset.toml beside it, which says what it is, for a "
                 "start:\n[dataset]\nkind = \"csv\"\nfile = \"visits.csv\"\n",
                 [&] { return read_own_folder(folder_, role); });
  }
  put_pictures({"a.png"});
  expect_unlabelled(load(), 1);
}

TEST_F(OwnVisitor, OneSampleIsEnough) {
  put_inputs(1);
  expect_unlabelled(load(), 1);
}

}  // namespace
}  // namespace feroma
