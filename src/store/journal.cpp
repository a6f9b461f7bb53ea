#include "feroma/store/journal.h"

#include <fcntl.h>
#include <zlib.h>

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

struct Parsed {
  std::vector<Bytes> records;
  std::uint64_t whole = 0;  ///< bytes up to the end of the last whole record
};

Parsed parse(std::span<const std::byte> bytes, const fs::path& path) {
  Parsed parsed;
  if (bytes.size() < kMagic.size()) {
    return parsed;  // it was never begun
  }
  require(std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0, ErrorCode::invalid_data,
          "{}: is not a journal of this version", path.string());
  std::size_t at = kMagic.size();
  Head head;
  while (is_head(bytes.subspan(at), head) && head.number == parsed.records.size() + 1 &&
         bytes.size() - at - sizeof(Head) >= head.size) {
    const auto record = bytes.subspan(at + sizeof(Head), head.size);
    if (crc_of(record) != head.crc) {
      break;
    }
    parsed.records.emplace_back(record.begin(), record.end());
    at += sizeof(Head) + head.size;
  }
  parsed.whole = at;
  // Only the last append can be unfinished. A later record behind the first bad one means that the file was damaged.
  for (std::size_t later = at + 1; later < bytes.size(); ++later) {
    require(!is_head(bytes.subspan(later), head) || head.number <= parsed.records.size() + 1, ErrorCode::invalid_data,
            "{}: is damaged: record {} cannot be read, but record {} is there", path.string(),
            parsed.records.size() + 1, head.number);
  }
  return parsed;
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
  const Bytes bytes = read_file(path_);
  Parsed parsed = parse(bytes, path_);
  if (parsed.whole == 0) {
    held_->file.truncate(0);
    held_->file.write_all(std::as_bytes(std::span(kMagic)));
    held_->file.sync();
  } else if (parsed.whole < bytes.size()) {
    cut_ = bytes.size() - parsed.whole;
    held_->file.truncate(parsed.whole);
    held_->file.sync();
  }
  detail::sync_folder(path_.parent_path());
  records_ = std::move(parsed.records);
  count_ = records_.size();
}

Journal::~Journal() = default;
Journal::Journal(Journal&&) noexcept = default;

void Journal::append(std::span<const std::byte> record) {
  require(record.size() <= kLargestRecord, ErrorCode::internal, "{}: a record has at most {} bytes, got {}",
          path_.string(), kLargestRecord, record.size());
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

std::vector<Bytes> read_journal(const fs::path& path) { return parse(read_file(path), path).records; }

}  // namespace feroma
