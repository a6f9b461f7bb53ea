#include "progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace feroma::cli {
namespace {

constexpr int kBarWidth = 24;

}  // namespace

std::string duration(double seconds) {
  const auto whole = std::lround(seconds);
  return whole >= 3600 ? fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60)
                       : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string bar_of(double share) {
  const int filled = std::clamp(static_cast<int>(kBarWidth * share), 0, kBarWidth);
  std::string bar(static_cast<std::size_t>(kBarWidth), '.');
  bar.replace(0, static_cast<std::size_t>(filled), static_cast<std::size_t>(filled), '#');
  return bar;
}

Progress::Progress(std::vector<std::string> labels)
    : labels_(std::move(labels)), terminal_(::isatty(STDERR_FILENO) == 1) {}

RunObserver Progress::observer() {
  RunObserver observer;
  observer.started = [this](const std::string& label, int finished, int rounds) { started(label, finished, rounds); };
  observer.round_finished = [this](const RoundRecord& record, int rounds) { round_finished(record, rounds); };
  return observer;
}

void Progress::started(const std::string& label, int finished, int rounds) {
  index_ = std::find(labels_.begin(), labels_.end(), label) - labels_.begin() + 1;
  first_round_ = finished;
  start_ = std::chrono::steady_clock::now();
  tested_ = false;
  if (!terminal_ && finished > 0) {
    fmt::print(stderr, "{}: resuming after round {} of {}\n", label, finished, rounds);
  }
}

void Progress::round_finished(const RoundRecord& record, int rounds) {
  if (terminal_) {
    remember_accuracy(record);
    draw(record, rounds);
    return;
  }
  const std::string test = record.test_accuracy ? fmt::format("test accuracy {:.2f}; ", *record.test_accuracy) : "";
  fmt::print(stderr,
             "{} round {}/{}: {}clients' own data: accuracy {:.2f} as served, {:.2f} after training, loss "
             "{:.4f}; {:.1f} s\n",
             record.algorithm, record.round, rounds, test, record.accuracy_before, record.accuracy_after, record.loss,
             record.seconds);
}

void Progress::remember_accuracy(const RoundRecord& record) {
  if (record.test_accuracy) {
    accuracy_ = fmt::format("test accuracy {:.1f} %", *record.test_accuracy);
    tested_ = true;
  } else if (!tested_) {
    accuracy_ = fmt::format("accuracy as served {:.1f} %", record.accuracy_before);
  }
}

void Progress::draw(const RoundRecord& record, int rounds) const {
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double rate = (record.round - first_round_) / std::max(elapsed, 1e-9);
  const double share = static_cast<double>(record.round) / std::max(rounds, 1);
  fmt::print(stderr, "\r\033[K[{}] {} ({} of {}) round {}/{}, {}, {:.2f} rounds/s, {} left", bar_of(share),
             record.algorithm, index_, labels_.size(), record.round, rounds, accuracy_, rate,
             duration((rounds - record.round) / rate));
  std::fflush(stderr);
}

void Progress::clear() const {
  if (terminal_) {
    fmt::print(stderr, "\r\033[K");
  }
}

}  // namespace feroma::cli
