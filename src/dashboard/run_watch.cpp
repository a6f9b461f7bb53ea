#include "dashboard/run_watch.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/posix_file.h"
#include "feroma/core/error.h"

namespace feroma::dashboard {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(250);
constexpr auto kBetweenPieces = std::chrono::milliseconds(1);
constexpr auto kBetweenQuestions = std::chrono::seconds(1);

/// What was written so lately has a writer, whoever holds what.
constexpr auto kQuiet = std::chrono::seconds(10);

/// Whether nobody writes in a folder any more: a simulation holds its folder as long as it runs, a server its journal.
bool is_left(const std::filesystem::path& folder) {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(folder / "events.jsonl", error);
  if (error || std::filesystem::file_time_type::clock::now() - written < kQuiet) {
    return false;
  }
  const std::filesystem::path journal = folder / "journal";
  try {
    return !detail::PosixFile(std::filesystem::exists(journal) ? journal : folder, O_RDONLY).is_held();
  } catch (const std::exception&) {
    return false;  // where nobody can be asked, it may go on
  }
}

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

}  // namespace

RunWatch::RunWatch(std::filesystem::path folder, std::function<LiveStatus()> live, const Clock& clock)
    : live_(std::move(live)), clock_(clock), events_(folder / "events.jsonl"), clients_(folder / "clients.csv") {
  sight_.folder = std::move(folder);
  sight_.epoch =
      static_cast<std::uint64_t>(now() * 1000);  // a page that was open before must not take ours for its own
  thread_ = std::jthread([this] { watch(); });
}

RunWatch::~RunWatch() { end(); }

void RunWatch::end() {
  ended_ = true;
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

std::uint64_t RunWatch::wait_beyond(std::uint64_t version, std::chrono::milliseconds time) const {
  std::unique_lock lock(mutex_);
  clock_.wait_until(lock, changed_, clock_.now() + time, [&] { return ended_ || sight_.version > version; });
  return sight_.version;
}

void RunWatch::watch() {
  // What fails must neither end the page nor keep the rest from being shown.
  const auto attempt = [this](const char* name, const auto& act) {
    try {
      act();
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      complain(name, error.what());
    }
  };
  while (!ended_) {
    bool more = false;
    attempt("look", [&] { more = look(); });
    attempt("ask_live", [&] { ask_live(); });
    attempt("ask_writer", [&] { ask_writer(); });
    // Between two pieces others have their turn.
    std::unique_lock lock(mutex_);
    clock_.wait_until(lock, changed_, clock_.now() + (more ? kBetweenPieces : kBetweenLooks),
                      [this] { return ended_.load(); });
  }
}

void RunWatch::complain(const std::string& tried, const std::string& why) {
  if (std::exchange(troubles_[tried], why) != why) {
    sight_.run.damage.add(why);
    sight_.version += 1;
    changed_.notify_all();
  }
}

TailedFile::Seen RunWatch::read_piece_of(TailedFile& file, Take take) {
  const std::string name = file.path().filename().string();
  try {
    return file.poll([&](const TailedLine& line) {
      (sight_.run.*take)(line.text, fmt::format("{}:{}", name, line.number), line.offset);
    });
  } catch (const std::exception& error) {
    complain(name, error.what());
    return TailedFile::Seen::nothing;
  }
}

bool RunWatch::look() {
  const std::lock_guard lock(mutex_);
  const std::uint64_t before = events_.position() + clients_.position();
  const std::uint64_t too_long = events_.too_long() + clients_.too_long();
  const auto events = read_piece_of(events_, &RunState::take_event);
  const auto clients = read_piece_of(clients_, &RunState::take_client);
  if (events == TailedFile::Seen::cut || clients == TailedFile::Seen::cut) {
    // Both are cut together when a run is resumed, so all is read again.
    events_ = TailedFile(events_.path());
    clients_ = TailedFile(clients_.path());
    sight_.run = {};
    troubles_.clear();  // they went with the damage
    sight_.epoch += 1;
    sight_.version += 1;
    changed_.notify_all();
    return true;
  }
  if (events_.too_long() + clients_.too_long() > too_long) {
    sight_.run.damage.add("a line is too long to be read, and was left out");
  }
  sight_.run.settle();
  const std::uint64_t read = events_.position() + clients_.position();
  const std::uint64_t size = events_.size() + clients_.size();
  // Of files that were cut to nothing, or are gone, there is nothing to read, and that is news too.
  if (read != before || read != sight_.read || size != sight_.size) {
    sight_.read = read;
    sight_.size = size;
    // A simulation writes down first of all how it was made; a server does not.
    std::error_code ignored;
    sight_.federation = read > 0 && !std::filesystem::exists(sight_.folder / "manifest.json", ignored);
    sight_.version += 1;
    changed_.notify_all();
  }
  return read < size && read != before;
}

void RunWatch::ask_writer() {
  const Clock::time_point time = clock_.now();
  if (time - asked_writer_ < kBetweenQuestions) {
    return;
  }
  asked_writer_ = time;
  const bool finished = see([](const Sight& sight) { return sight.run.finished; });
  const bool stopped = !finished && is_left(sight_.folder);  // which nobody changes
  const std::lock_guard lock(mutex_);
  if (sight_.stopped != stopped) {
    sight_.stopped = stopped;
    sight_.version += 1;
    changed_.notify_all();
  }
  if ((finished || stopped) && sight_.read == sight_.size) {
    look_for_missing();
  }
}

void RunWatch::look_for_missing() {
  std::error_code ignored;
  if (sight_.stopped && std::filesystem::exists(sight_.folder / "summary.json", ignored)) {
    complain("the end", "events.jsonl: has no run_finished, though summary.json is there: its last lines are lost");
  }
  const auto& all = sight_.run.algorithms;
  if (clients_.size() == 0 && std::any_of(all.begin(), all.end(), [](const auto& a) { return a.last_round > 0; })) {
    complain("clients", "clients.csv: must have lines for the rounds of events.jsonl, and is missing or empty");
  }
}

void RunWatch::ask_live() {
  const Clock::time_point time = clock_.now();
  if (!live_ || time - asked_ < kBetweenQuestions) {
    return;
  }
  asked_ = time;
  LiveStatus status = live_();
  const std::lock_guard lock(mutex_);
  sight_.live = std::move(status);
  sight_.live_time = now();
  sight_.version += 1;
  changed_.notify_all();
}

}  // namespace feroma::dashboard
