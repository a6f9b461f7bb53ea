#include "net/allow_list.h"

#include <sys/stat.h>

#include <cerrno>
#include <tuple>

#include "core/posix_file.h"

namespace feroma::net {
namespace {

/// Coarser than any clock of a file system that we know of.
constexpr Clock::duration kTick = std::chrono::seconds(2);

auto as_tuple(const timespec& time) { return std::tuple(time.tv_sec, time.tv_nsec); }

}  // namespace

bool AllowList::Stamp::operator==(const Stamp& other) const {
  return std::tie(device, file, size) == std::tie(other.device, other.file, other.size) &&
         as_tuple(written) == as_tuple(other.written) && as_tuple(changed) == as_tuple(other.changed);
}

AllowList::Stamp AllowList::look() const {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) {
    detail::fail_errno(path_, "look at this list of clients", errno);
  }
  return {status.st_dev, status.st_ino, status.st_size, status.st_mtim, status.st_ctim};
}

bool AllowList::is_settled(const Stamp& stamp) {
  const Clock::time_point now = clock_.now();
  if (seen_ != stamp) {
    seen_ = stamp;
    since_ = now;
  }
  return now - since_ > kTick;
}

std::shared_ptr<const ClientList> AllowList::read() {
  const std::lock_guard lock(mutex_);
  const Stamp now = look();  // before it is read: what is written meanwhile shows the next time
  if (stamp_ == now) {
    return list_;
  }
  const bool settled = is_settled(now);
  stamp_.reset();
  try {
    list_ = std::make_shared<const ClientList>(read_valid_client_list(path_));
    damage_.clear();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_data || list_ == nullptr) {
      throw;
    }
    damage_ = error.what();
    return list_;
  }
  if (settled) {
    stamp_ = now;
  }
  return list_;
}

std::string AllowList::damage() const {
  const std::lock_guard lock(mutex_);
  return damage_;
}

}  // namespace feroma::net
