#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "feroma/core/error.h"
#include "feroma/data/dataset.h"

namespace feroma::test {

/// `count` samples whose labels go round and whose pixels differ between samples and between positions.
inline Samples make_samples(std::size_t count, SampleShape shape, int classes) {
  Samples samples;
  samples.shape = shape;
  for (std::size_t i = 0; i < count; ++i) {
    samples.labels.push_back(static_cast<std::int32_t>(i % static_cast<std::size_t>(classes)));
    for (std::size_t p = 0; p < static_cast<std::size_t>(shape.size()); ++p) {
      samples.pixels.push_back(static_cast<std::uint8_t>((i * 7 + p * 31) % 256));
    }
  }
  return samples;
}

/// A dataset with the sizes of MNIST where nothing depends on the pictures themselves.
inline std::shared_ptr<const Dataset> make_dataset(std::size_t train, std::size_t test, SampleShape shape = {1, 2, 2},
                                                   int classes = 10) {
  auto dataset = std::make_shared<Dataset>();
  dataset->name = "synthetic";
  dataset->classes = classes;
  dataset->train = make_samples(train, shape, classes);
  dataset->test = make_samples(test, shape, classes);
  return dataset;
}

/// The error that `action` throws; a test fails where it throws none.
template <class Action>
Error error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return {ErrorCode::internal, ""};
}

/// An empty folder of this test case, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    const testing::TestInfo& info = *testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::temp_directory_path() /
            (std::string("feroma-") + info.test_suite_name() + "-" + info.name() + "-" + std::to_string(::getpid()));
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace feroma::test
