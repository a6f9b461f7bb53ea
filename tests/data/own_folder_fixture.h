#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "feroma/core/log.h"
#include "feroma/core/npy.h"
#include "tests/data/synthetic.h"

namespace feroma::test {

/// A user's own folder, to be filled.
class OwnFolder : public testing::Test {
 protected:
  void describe(const std::string& text) const { put("dataset.toml", "[dataset]\n" + text); }
  void put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  void put(const std::string& name, const Bytes& bytes) const {
    put(name, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  void put_floats(const std::string& name, const std::vector<float>& values,
                  const std::vector<std::int64_t>& shape) const {
    put(name, npy_bytes(values, shape));
  }

  ScratchFolder scratch_;
  std::filesystem::path folder_ = scratch_.path();
};

/// The warnings that are logged while it lives.
class Warnings {
 public:
  Warnings() {
    log::set_sink([this](const log::Entry& entry) {
      if (entry.severity == log::Severity::warning) {
        text_ += std::string(entry.message) + "\n";
      }
    });
  }
  ~Warnings() { log::set_sink({}); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace feroma::test
