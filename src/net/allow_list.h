#pragma once

#include <ctime>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "feroma/core/clock.h"
#include "feroma/net/client_list.h"

namespace feroma::net {

/// A list of clients as it is on disk just now, read again only where the file may have changed. One that was emptied,
/// cut or damaged is not obeyed: the last good one stays in force until there is another. From any thread.
class AllowList {
 public:
  AllowList(std::filesystem::path path, const Clock& clock) : path_(std::move(path)), clock_(clock) {}

  /// The same object as long as the file is the same. An error while the file cannot be read, or is damaged and there
  /// was no good one before.
  [[nodiscard]] std::shared_ptr<const ClientList> read();
  /// Why the last good list stands in for what is on disk; empty where it need not.
  [[nodiscard]] std::string damage() const;

 private:
  /// Changes with whatever is done to a file: its contents, its name, its owner, who may read it.
  struct Stamp {
    std::uint64_t device = 0;
    std::uint64_t file = 0;
    std::int64_t size = 0;
    timespec written = {};
    timespec changed = {};

    bool operator==(const Stamp& other) const;
  };
  [[nodiscard]] Stamp look() const;
  /// Whether a later change must show, where the file is as it was when it was looked at before: clocks of file systems
  /// are coarse, and a file may be written twice within a tick.
  [[nodiscard]] bool is_settled(const Stamp& stamp);

  const std::filesystem::path path_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::string damage_;
  std::shared_ptr<const ClientList> list_;
  std::optional<Stamp> seen_;   ///< what the file was like when it was looked at last
  Clock::time_point since_;     ///< and since when
  std::optional<Stamp> stamp_;  ///< of `list_`; absent where it must be read again in any case
};

}  // namespace feroma::net
