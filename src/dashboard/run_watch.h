#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "dashboard/run_state.h"
#include "dashboard/tailed_file.h"
#include "feroma/core/clock.h"
#include "feroma/dashboard/dashboard.h"

namespace feroma::dashboard {

/// What is known at one moment.
struct Sight {
  RunState run;
  std::filesystem::path folder;
  bool federation = false;  ///< the state of a server rather than a simulation
  std::uint64_t read = 0;   ///< bytes of the growing files
  std::uint64_t size = 0;   ///< that they have
  bool stopped = false;     ///< nobody writes any more
  LiveStatus live;
  double live_time = 0;       ///< when it was asked, seconds since 1970; 0: never
  std::uint64_t epoch = 0;    ///< another one after files were cut or replaced
  std::uint64_t version = 1;  ///< grows with whatever changes
};

/// Follows a run's files on a thread of its own; everything else may be called from any thread.
class RunWatch {
 public:
  /// `clock`: of its looks and questions.
  RunWatch(std::filesystem::path folder, std::function<LiveStatus()> live, const Clock& clock = Clock::machine());
  ~RunWatch();
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  /// Calls `look` with what is known; nothing changes meanwhile, so it should be quick.
  template <class Look>
  auto see(Look&& look) const {
    const std::lock_guard lock(mutex_);
    return look(sight_);
  }
  /// Waits until the version is beyond `version`, the time is over, or the end; returns the version.
  std::uint64_t wait_beyond(std::uint64_t version, std::chrono::milliseconds time) const;
  /// Wakes everybody who waits, for good.
  void end();
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  void watch();
  /// True where there is more to read at once.
  [[nodiscard]] bool look();
  using Take = void (RunState::*)(std::string_view text, const std::string& where, std::uint64_t offset);
  /// Takes the lines of a file's next piece; nothing where it cannot be read. Needs the lock.
  [[nodiscard]] TailedFile::Seen read_piece_of(TailedFile& file, Take take);
  void ask_live();
  void ask_writer();
  /// What should be there once nobody writes any more. Needs the lock.
  void look_for_missing();
  /// Why something that was tried failed is shown among the damage, once. Needs the lock.
  void complain(const std::string& tried, const std::string& why);

  std::function<LiveStatus()> live_;
  const Clock& clock_;
  TailedFile events_;
  TailedFile clients_;
  std::atomic<bool> ended_ = false;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  Sight sight_;
  std::map<std::string, std::string> troubles_;  ///< the last one of each thing that is tried
  Clock::time_point asked_;
  Clock::time_point asked_writer_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace feroma::dashboard
