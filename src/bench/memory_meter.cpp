#include "bench/memory_meter.h"

#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace feroma::detail {
namespace {

/// A "VmHWM:   123 kB" line of Linux's status file, in bytes.
std::optional<double> status_bytes(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) {
      return 1024.0 * std::stod(line.substr(key.size()));
    }
  }
  return std::nullopt;
}

/// Lets the highest point start again from here; false where the system has no such switch.
bool forget_peak() {
  std::ofstream switches("/proc/self/clear_refs");
  switches << "5" << std::flush;
  return switches.good();
}

}  // namespace

MemoryMeter::MemoryMeter() {
  // Freed pages that are still here could be used again without anybody seeing it.
  malloc_trim(0);
  if (forget_peak()) {
    start_bytes_ = status_bytes("VmRSS:");
  }
}

std::optional<double> MemoryMeter::peak_growth_bytes() const {
  const std::optional<double> peak = status_bytes("VmHWM:");
  return peak && start_bytes_ ? std::optional(std::max(0.0, *peak - *start_bytes_)) : std::nullopt;
}

}  // namespace feroma::detail
