#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "feroma/core/log.h"

namespace feroma::net::test {

/// Lines of the log while it lives; fields follow the message as name=value.
class Lines {
 public:
  Lines() {
    log::set_sink([this](const log::Entry& entry) {
      std::string line(entry.message);
      for (const log::Field& field : entry.fields) {
        std::visit([&](const auto& value) { line += fmt::format(" {}={}", field.name, value); }, field.value);
      }
      const std::lock_guard lock(mutex_);
      lines_.push_back(std::move(line));
      written_.notify_all();
    });
  }
  ~Lines() { log::set_sink({}); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  [[nodiscard]] std::size_t count() { return with("").size(); }
  /// Those in which the text is.
  [[nodiscard]] std::vector<std::string> with(const std::string& text) {
    const std::lock_guard lock(mutex_);
    return found_with(text);
  }
  /// Waits for one in which the text is; false where there is none within twenty seconds.
  [[nodiscard]] bool await(const std::string& text) {
    std::unique_lock lock(mutex_);
    return written_.wait_for(lock, std::chrono::seconds(20), [&] { return !found_with(text).empty(); });
  }

 private:
  [[nodiscard]] std::vector<std::string> found_with(const std::string& text) const {
    std::vector<std::string> found;
    std::copy_if(lines_.begin(), lines_.end(), std::back_inserter(found),
                 [&](const std::string& line) { return line.find(text) != std::string::npos; });
    return found;
  }

  std::mutex mutex_;
  std::condition_variable written_;
  std::vector<std::string> lines_;
};

}  // namespace feroma::net::test
