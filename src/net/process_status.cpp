#include "net/process_status.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace feroma::net {
namespace {

/// The number of a line like "VmRSS:   1234 kB".
std::optional<std::uint64_t> number_after(std::string_view key, const std::string& line) {
  return line.starts_with(key) ? std::optional<std::uint64_t>(std::stoull(line.substr(key.size()))) : std::nullopt;
}

}  // namespace

void measure_process(ServerStatus& status) {
  std::ifstream own("/proc/self/status");
  for (std::string line; std::getline(own, line);) {
    if (const auto kilobytes = number_after("VmRSS:", line)) {
      status.memory_bytes = *kilobytes * 1024;
    } else if (const auto threads = number_after("Threads:", line)) {
      status.threads = *threads;
    }
  }
  std::error_code unknown;
  const std::filesystem::directory_iterator open("/proc/self/fd", unknown);
  if (!unknown) {
    // Looking at them opens one.
    status.descriptors = static_cast<std::size_t>(std::distance(begin(open), end(open))) - 1;
  }
}

}  // namespace feroma::net
