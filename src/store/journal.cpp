#include "feroma/store/journal.h"

#include <fcntl.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/posix_file.h"
#include "feroma/core/error.h"
#include "feroma/core/fault_point.h"
#include "feroma/core/files.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

constexpr std::array<char, 8> kMagic{'F', 'E', 'R', 'O', 'M', 'A', 'J', '1'};
/// More than any record: what is large stands in files of its own.
constexpr std::uint32_t kLargestRecord = 1U << 26;

/// What stands before each record, as it is on disk.
struct Head {
  std::uint64_t number = 0;  ///< 1, 2, 3, ...
  std::uint32_t size = 0;
  std::uint32_t crc = 0;    ///< of the record
  std::uint64_t check = 0;  ///< of the three above
};
static_assert(sizeof(Head) == 24, "the head has no padding");

std::uint32_t crc_of(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

std::uint64_t check_of(const Head& head) { return crc_of(std::as_bytes(std::span(&head, 1)).first(16)); }

Head head_of(std::uint64_t number, std::span<const std::byte> record) {
  Head head{number, static_cast<std::uint32_t>(record.size()), crc_of(record), 0};
  head.check = check_of(head);
  return head;
}

/// A head at this place, whatever follows it; its check alone says that one was written here.
bool is_head(std::span<const std::byte> bytes, Head& head) {
  if (bytes.size() < sizeof(Head)) {
    return false;
  }
  std::memcpy(&head, bytes.data(), sizeof(Head));
  return head.number > 0 && head.size <= kLargestRecord && head.check == check_of(head);
}

/// Files are written in whole pages: what never reached the disk begins at one of their ends.
constexpr std::size_t kPage = 4096;

/// Whether `rest`, which stands at byte `at` behind the last whole record, can be what a crash left of the next one:
/// its first bytes, or room that the file system made and never filled.
bool is_unfinished(std::span<const std::byte> rest, std::uint64_t at, std::uint64_t number) {
  const auto last = std::find_if(rest.rbegin(), rest.rend(), [](std::byte byte) { return byte != std::byte{0}; });
  const auto filled = static_cast<std::size_t>(rest.rend() - last);
  const std::size_t hole = (at + filled + kPage - 1) / kPage * kPage - at;
  if (filled == 0) {
    return true;
  }
  const std::size_t known = std::min(rest.size(), sizeof(number));
  if (std::memcmp(rest.data(), &number, known) != 0) {
    return false;
  }
  Head head;
  if (rest.size() < sizeof(Head) || hole < sizeof(Head)) {
    return true;
  }
  return is_head(rest, head) && (rest.size() - sizeof(Head) < head.size || hole < rest.size());
}

/// What is wrong where record `number` should begin. A later record behind it says that there was more.
std::string damage_of(std::span<const std::byte> rest, std::uint64_t at, std::uint64_t number) {
  Head head;
  for (std::size_t later = 1; later < rest.size(); ++later) {
    if (is_head(rest.subspan(later), head) && head.number > number) {
      return fmt::format("record {} at byte {} cannot be read, but record {} is there", number, at, head.number);
    }
  }
  return is_head(rest, head) && head.number == number
             ? fmt::format("the content of record {} at byte {} is not what was written", number, at)
             : fmt::format("the {} bytes from byte {} on are no record {}", rest.size(), at, number);
}

JournalContent parse(std::span<const std::byte> bytes, const fs::path& path) {
  JournalContent content;
  const std::size_t magic = std::min(bytes.size(), kMagic.size());
  const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
  const bool is_begun = std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(magic),
                                   std::as_bytes(std::span(kMagic)).begin());
  if (magic < kMagic.size() ? is_begun : std::all_of(bytes.begin(), bytes.end(), is_zero)) {
    content.cut = bytes.size();  // its first bytes were never all written
    return content;
  }
  require(is_begun, ErrorCode::invalid_data, "{}: is not a journal of this version; restore the folder from a backup",
          path.string());
  std::size_t at = kMagic.size();
  Head head;
  while (is_head(bytes.subspan(at), head) && head.number == content.records.size() + 1 &&
         bytes.size() - at - sizeof(Head) >= head.size) {
    const auto record = bytes.subspan(at + sizeof(Head), head.size);
    if (crc_of(record) != head.crc) {
      break;
    }
    content.records.emplace_back(record.begin(), record.end());
    at += sizeof(Head) + head.size;
  }
  content.whole = at;
  const auto rest = bytes.subspan(at);
  const std::uint64_t next = content.records.size() + 1;
  if (is_unfinished(rest, at, next)) {
    content.cut = rest.size();
  } else {
    content.damage = damage_of(rest, at, next);
  }
  return content;
}

}  // namespace

/// The open file, locked against other processes.
struct Journal::Held {
  detail::PosixFile file;
};

Journal::Journal(fs::path path) : path_(std::move(path)) {
  make_writable_folder(path_.parent_path());
  held_ = std::make_unique<Held>(Held{detail::PosixFile(path_, O_RDWR | O_CREAT | O_APPEND)});
  require(held_->file.try_lock(), ErrorCode::io, "{}: another process holds this journal", path_.string());
  JournalContent content = examine_journal(path_);
  content.require_undamaged(path_);
  records_ = std::move(content.records);
  count_ = records_.size();
  whole_ = content.whole;
  cut_ = content.cut;
}

void Journal::make_ready() {
  if (whole_ == 0) {
    held_->file.truncate(0);
    held_->file.write_all(std::as_bytes(std::span(kMagic)));
    held_->file.sync();
  } else if (cut_ > 0) {
    held_->file.truncate(whole_);
    held_->file.sync();
  }
  detail::sync_folder(path_.parent_path());
  ready_ = true;
}

Journal::~Journal() = default;
Journal::Journal(Journal&&) noexcept = default;

void Journal::append(std::span<const std::byte> record) {
  require(record.size() <= kLargestRecord, ErrorCode::internal, "{}: a record has at most {} bytes, got {}",
          path_.string(), kLargestRecord, record.size());
  if (!ready_) {
    make_ready();
  }
  const Head head = head_of(count_ + 1, record);
  Bytes bytes(sizeof(Head) + record.size());
  std::memcpy(bytes.data(), &head, sizeof(Head));
  if (!record.empty()) {
    std::memcpy(bytes.data() + sizeof(Head), record.data(), record.size());
  }
  const std::uint64_t before = held_->file.size();
  fault_point("journal.append");
  try {
    held_->file.write_all(bytes);
    held_->file.sync();
  } catch (const Error&) {
    // Half a record in front of the next one would make that one unreadable.
    held_->file.truncate(before);
    throw;
  }
  fault_point("journal.appended");
  count_ += 1;
}

void JournalContent::require_undamaged(const fs::path& path) const {
  require(damage.empty(), ErrorCode::invalid_data, "{}: is damaged: {}", path.string(), damage);
}

JournalContent examine_journal(const fs::path& path) {
  return fs::exists(path) ? parse(read_file(path), path) : JournalContent{};
}

}  // namespace feroma
