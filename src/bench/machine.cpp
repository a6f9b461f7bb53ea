#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "feroma/bench/figures.h"
#include "feroma/core/options.h"
#include "feroma/core/simd.h"

namespace feroma {
namespace {

/// The value after the colon of the first line that starts with `key`; empty where the file has none.
std::string line_value(const char* file, std::string_view key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (line.starts_with(key) && colon != std::string::npos) {
      const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
      return begin == std::string::npos ? "" : line.substr(begin);
    }
  }
  return {};
}

}  // namespace

Machine this_machine() {
  const std::string cpu = line_value("/proc/cpuinfo", "model name");
  return {cpu.empty() ? "unknown" : cpu, static_cast<int>(std::max(1U, std::thread::hardware_concurrency())),
          std::string(name_of(simd_target()))};
}

}  // namespace feroma
