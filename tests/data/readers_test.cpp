#include "src/data/readers.h"

#include <gtest/gtest.h>

#include <fstream>

#include "feroma/core/files.h"
#include "feroma/data/split.h"
#include "src/data/chest_xrays.h"
#include "tests/data/idx_bytes.h"
#include "tests/data/picture_bytes.h"
#include "tests/data/synthetic.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;
using test::flat_png;
using test::idx_bytes;

void put(const fs::path& path, const Bytes& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

void put_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

class Readers : public testing::Test {
 protected:
  test::ScratchFolder scratch_;
  fs::path folder_ = scratch_.path();
};

class Emnist : public Readers {
 protected:
  void write(const std::vector<std::uint8_t>& labels) {
    for (const std::string split : {"train", "test"}) {
      std::vector<std::uint8_t> pixels(784 * 2, 0);
      pixels[1] = 77;  // first row, second column of the stored picture
      put(folder_ / ("emnist-letters-" + split + "-images-idx3-ubyte"), idx_bytes({2, 28, 28}, pixels));
      put(folder_ / ("emnist-letters-" + split + "-labels-idx1-ubyte.gz"), test::gzip(idx_bytes({2}, labels)));
    }
  }
};

TEST_F(Emnist, LettersCountFromZeroAndStandUpright) {
  write({1, 26});
  const auto dataset = load_dataset("emnist", folder_);
  EXPECT_EQ(dataset->train.labels, (std::vector<std::int32_t>{0, 25}));
  EXPECT_EQ(dataset->class_names.back(), "z");
  EXPECT_EQ(dataset->train.pixels[28], 77) << "second row, first column";
  EXPECT_EQ(dataset->train.pixels[1], 0);
}

TEST_F(Emnist, RefusesLabelsOutsideOfTheLetters) {
  write({1, 27});
  expect_error(ErrorCode::invalid_data, "labels must be below 27, got 27 at offset 9",
               [&] { return load_dataset("emnist", folder_); });
  write({1, 0});
  expect_error(ErrorCode::invalid_data, "labels must be in 1..26, got 0 at offset 9",
               [&] { return load_dataset("emnist", folder_); });
}

TEST_F(Readers, CifarReadsItsBatchesAndChecksThem) {
  const auto batch = [](int label) {
    Bytes bytes(3073, std::byte{5});
    bytes[0] = static_cast<std::byte>(label);
    return bytes;
  };
  const fs::path inner = folder_ / "cifar-10-batches-bin";
  for (int i = 1; i <= 5; ++i) {
    put(inner / ("data_batch_" + std::to_string(i) + ".bin"), batch(i));
  }
  put(inner / "test_batch.bin", batch(9));
  const DatasetEntry& entry = find_dataset("cifar10");
  EXPECT_EQ(locate_dataset(entry, folder_), inner) << "the folder of the official archive is found";
  const Dataset dataset = entry.read(entry, inner, {});
  EXPECT_EQ(dataset.train.labels, (std::vector<std::int32_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(dataset.test.labels, std::vector<std::int32_t>{9});
  expect_error(ErrorCode::invalid_data, "data_batch_1.bin must have the official content, and differs",
               [&] { return load_dataset("cifar10", folder_); });
}

class Har : public Readers {
 protected:
  void write(const std::string& split, const std::string& labels, std::size_t windows) {
    for (const std::string signal : {"total_acc", "body_acc", "body_gyro"}) {
      for (const std::string axis : {"x", "y", "z"}) {
        std::string text;
        for (std::size_t w = 0; w < windows; ++w) {
          for (int i = 0; i < 128; ++i) {
            text += signal == "body_gyro" && axis == "z" ? "  -1.5000000e-001" : "  2.5e+000";
          }
          text += "\n";
        }
        put_text(folder_ / split / "Inertial Signals" / (signal + "_" + axis + "_" + split + ".txt"), text);
      }
    }
    put_text(folder_ / split / ("y_" + split + ".txt"), labels);
    put_text(folder_ / split / ("subject_" + split + ".txt"), "1\n30\n");
  }
};

TEST_F(Har, ReadsTheOfficialText) {
  write("train", "5\n6\n", 2);
  write("test", "1\n2\n", 2);
  const auto dataset = load_dataset("uci-har", folder_);
  EXPECT_EQ(dataset->train.shape, (SampleShape{9, 1, 128}));
  EXPECT_EQ(dataset->train.labels, (std::vector<std::int32_t>{4, 5}));
  EXPECT_EQ(dataset->train.owners, (std::vector<std::int32_t>{0, 29}));
  EXPECT_EQ(dataset->train.values[0], 2.5F);
  EXPECT_EQ(dataset->train.values[8 * 128], -0.15F);
}

TEST_F(Har, RefusesDamagedText) {
  write("train", "5\n7\n", 2);
  write("test", "1\n2\n", 2);
  const auto load = [&] { return load_dataset("uci-har", folder_); };
  expect_error(ErrorCode::invalid_data, "y_train.txt:2: must be a whole number in 1..6, got 7", load);
  write("train", "5\n", 2);
  expect_error(ErrorCode::invalid_data, "y_train.txt: must have one line per window (2), got 1", load);
  write("train", "5\n6\n", 2);
  put_text(folder_ / "train/Inertial Signals/body_acc_y_train.txt", "1 2 3\n");
  expect_error(ErrorCode::invalid_data, "body_acc_y_train.txt:1: every line must have 128 numbers, got 3", load);
  put_text(folder_ / "train/Inertial Signals/body_acc_y_train.txt", "1 two\n");
  expect_error(ErrorCode::invalid_data, "body_acc_y_train.txt:1: must hold numbers, got 't' at offset 2", load);
}

class Tree : public Readers {
 protected:
  void add(const std::string& domain, const std::string& name, int pictures) {
    for (int i = 0; i < pictures; ++i) {
      put(folder_ / domain / name / (std::to_string(i) + ".png"), flat_png(5, static_cast<std::uint8_t>(10 * i)));
    }
  }
};

TEST_F(Tree, FoldersAreDomainsAndClasses) {
  for (const char* domain : {"b", "a"}) {
    add(domain, "dog", 5);
    add(domain, "cat", 10);
  }
  const auto dataset = load_dataset(folder_.string(), "", {.image_size = 4});
  EXPECT_EQ(dataset->class_names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(dataset->domain_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(dataset->train.shape, (SampleShape{3, 4, 4}));
  EXPECT_EQ(dataset->train.count(), 24U);
  EXPECT_EQ(dataset->test.count(), 6U);
  EXPECT_EQ(dataset->test.labels, (std::vector<std::int32_t>{0, 0, 1, 0, 0, 1}));
  EXPECT_EQ(dataset->test.domains, (std::vector<std::int32_t>{0, 0, 0, 1, 1, 1}));
}

TEST_F(Tree, RefusesClassesThatDiffer) {
  add("a", "cat", 2);
  add("a", "dog", 2);
  add("b", "cat", 2);
  expect_error(ErrorCode::invalid_data, "all domains must have the same classes; \"a\" and \"b\" differ in \"dog\"",
               [&] { return load_dataset(folder_.string(), ""); });
}

TEST_F(Tree, RefusesOneClassEmptyClassesAndNamesGivenTwice) {
  const auto load = [&] { return load_dataset(folder_.string(), ""); };
  add("a", "cat", 2);
  expect_error(ErrorCode::invalid_data, "must have at least two classes, got 1", load);
  fs::create_directories(folder_ / "a/dog");
  expect_error(ErrorCode::invalid_data, "a/dog: must hold .png or .jpg pictures, got none", load);
  add("a", "dog", 2);
  put(folder_ / "a/dog/1.jpg", flat_png(5, 1));
  expect_error(ErrorCode::invalid_data, "file names must differ in more than the suffix, got \"1\" twice", load);
}

TEST_F(Tree, NamesADamagedPicture) {
  add("a", "cat", 2);
  add("a", "dog", 2);
  put(folder_ / "a/dog/1.png", Bytes(30, std::byte{1}));
  expect_error(ErrorCode::invalid_data, "a/dog/1.png: must start with the magic of PNG or JPEG",
               [&] { return load_dataset(folder_.string(), ""); });
}

class Chexpert : public Readers {
 protected:
  static constexpr const char* kHeader =
      "Path,Sex,Age,Frontal/Lateral,AP/PA,No Finding,Enlarged Cardiomediastinum,Cardiomegaly,Lung Opacity,Lung Lesion,"
      "Edema,Consolidation,Pneumonia,Atelectasis,Pneumothorax,Pleural Effusion,Pleural Other,Fracture,Support "
      "Devices\n";

  void write(const std::string& rows) {
    put_text(folder_ / "train.csv", kHeader + rows);
    for (const char* patient : {"patient00001", "patient00002", "patient00003"}) {
      put(folder_ / "train" / patient / "study1/view1.jpg", flat_png(8, 100));
    }
  }
  static std::string row(const std::string& patient, const std::string& rest) {
    return "CheXpert-v1.0-small/train/" + patient + "/study1/view1.jpg," + rest + "\n";
  }
  [[nodiscard]] Dataset read(double threshold = 50) const {
    return detail::read_chexpert_rows(folder_, 2, 1, {.image_size = 8, .age_threshold = threshold});
  }
};

TEST_F(Chexpert, UncertainIsPresentAndMissingIsAbsent) {
  write(row("patient00001", "Female,68,Frontal,AP,1.0,,,,-1.0,0.0,,,,,,,,1.0") +
        row("patient00002", "Male,49,Lateral,,,,,,,,,,,,,,,1.0") +
        row("patient00003", "Unknown,50,Frontal,PA,,,,,,,,,,,,,,0.0") + "rows after these are not read");
  const Dataset dataset = read();
  EXPECT_EQ(dataset.train.count(), 2U);
  EXPECT_EQ(dataset.test.count(), 1U);
  EXPECT_EQ(std::vector<std::uint8_t>(dataset.train.targets.begin(), dataset.train.targets.begin() + 14),
            (std::vector<std::uint8_t>{1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(dataset.class_names.front(), "No Finding");
  EXPECT_EQ(dataset.train.owners, (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(dataset.domain_names[2], "frontal/old/female");
  EXPECT_EQ(dataset.train.domains, (std::vector<std::int32_t>{2, 5}));
  EXPECT_EQ(dataset.test.domains, std::vector<std::int32_t>{2});
  EXPECT_EQ(read(70).train.domains, (std::vector<std::int32_t>{0, 5})) << "the threshold decides who is old";
  EXPECT_EQ(dataset.train.pixels, std::vector<std::uint8_t>(128, 100));
}

TEST_F(Chexpert, TheLevelChoosesTheDomains) {
  write(row("patient00001", "Female,68,Frontal,AP,,,,,,,,,,,,,,") +
        row("patient00002", "Male,49,Lateral,,,,,,,,,,,,,,,") + row("patient00003", "Male,90,Lateral,,,,,,,,,,,,,,,"));
  Dataset dataset = read();
  keep_domain_factors_(dataset, 2);
  EXPECT_EQ(dataset.domain_names,
            (std::vector<std::string>{"frontal/young", "frontal/old", "lateral/young", "lateral/old"}));
  EXPECT_EQ(dataset.train.domains, (std::vector<std::int32_t>{1, 2}));
  keep_domain_factors_(dataset, 1);
  EXPECT_EQ(dataset.domain_names, (std::vector<std::string>{"frontal", "lateral"}));
  EXPECT_EQ(dataset.test.domains, std::vector<std::int32_t>{1});
}

TEST_F(Chexpert, RefusesDamagedRowsByLine) {
  const std::string good = row("patient00001", "Female,68,Frontal,AP,,,,,,,,,,,,,,");
  const auto load = [&] { return read(); };
  write(good);
  expect_error(ErrorCode::invalid_data, "train.csv: must have at least 3 rows, got 1", load);
  write(good + row("patient00002", "Male,49,Upside,,,,,,,,,,,,,,,") + good);
  expect_error(ErrorCode::invalid_data,
               "train.csv:3: column \"Frontal/Lateral\" must be Frontal or Lateral, got \"Upside\"", load);
  write(good + row("patient00002", "Male,49,Lateral,,2.0,,,,,,,,,,,,,") + good);
  expect_error(ErrorCode::invalid_data, "train.csv:3: column \"No Finding\" must be 1, 0, -1 or empty, got 2", load);
  write(good + "CheXpert-v1.0-small/../patient00002/x.jpg,Male,49,Lateral,,,,,,,,,,,,,,,\n" + good);
  expect_error(ErrorCode::invalid_data, "train.csv:3: column \"Path\" must stay in its folder", load);
  write(good + row("patient00009", "Male,49,Lateral,,,,,,,,,,,,,,,") + good);
  expect_error(ErrorCode::io, "patient00009", load);
}

}  // namespace
}  // namespace feroma
