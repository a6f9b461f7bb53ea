#pragma once

#include <stdlib.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

namespace feroma::fuzz {

/// A folder for parsers that read files: in memory where the system has room for files there, and gone with the
/// process.
class Scratch {
 public:
  Scratch() {
    const std::filesystem::path memory = "/dev/shm";
    const bool has_memory = std::filesystem::is_directory(memory);
    std::string name = ((has_memory ? memory : std::filesystem::temp_directory_path()) / "feroma-fuzz-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      std::abort();
    }
    folder_ = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { remove(folder_); }

  /// An empty folder; what an input before left in it is removed.
  [[nodiscard]] std::filesystem::path folder() const {
    remove(folder_);
    std::filesystem::create_directory(folder_);
    return folder_;
  }
  /// The only file of the folder.
  [[nodiscard]] std::filesystem::path file(std::span<const std::byte> bytes) const {
    const std::filesystem::path path = folder() / "input";
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path;
  }

 private:
  static void remove(const std::filesystem::path& path) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }

  std::filesystem::path folder_;
};

inline const Scratch& scratch() {
  static const Scratch only;
  return only;
}

}  // namespace feroma::fuzz
