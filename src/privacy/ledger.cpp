#include "feroma/privacy/ledger.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>

#include "core/posix_file.h"
#include "feroma/core/error.h"
#include "feroma/core/fault_point.h"
#include "feroma/core/log.h"
#include "feroma/privacy/accountant.h"
#include "privacy/ledger_text.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLedger = "ledger";
constexpr std::string_view kReleased = "released";
/// Rounding of a plan that is used up to the last release.
constexpr double kSlack = 1e-9;
/// More than anybody makes, and few enough to be added up.
constexpr std::uint64_t kMostReleases = 1'000'000;

/// The numbers of the released files.
std::vector<std::uint64_t> released_files(const fs::path& folder) {
  std::vector<std::uint64_t> numbers;
  if (!fs::exists(folder / kReleased)) {
    return numbers;
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / kReleased)) {
    const std::string name = entry.path().filename().string();
    if (is_unfinished_write(name)) {
      continue;  // never left: bytes are sent after they have their name
    }
    const fs::path path = entry.path();
    const std::string stem = path.stem().string();
    const bool numbered = path.extension() == ".bin" && !stem.empty() && stem.size() < 19 &&
                          std::all_of(stem.begin(), stem.end(), [](char c) { return c >= '0' && c <= '9'; });
    require(numbered, ErrorCode::invalid_data, "{}: not a released file of a ledger", path.string());
    numbers.push_back(std::stoull(stem));
  }
  return numbers;
}

}  // namespace

fs::path released_path(const fs::path& folder, std::uint64_t sequence) {
  return folder / kReleased / fmt::format("{}.bin", sequence);
}

namespace {

Bytes read_released(const fs::path& folder, const LedgerLine& line) {
  Bytes bytes = read_file(released_path(folder, line.sequence));
  require(
      sha256(bytes) == line.digest, ErrorCode::invalid_data,
      "{}: is damaged: its SHA-256 must be {}, got {}; put it back, or take it away: what it answers to is told anew "
      "then, and costs anew",
      released_path(folder, line.sequence).string(), line.digest, sha256(bytes));
  return bytes;
}

/// Every released file must have its line: bytes without one say that lines were lost. Others than were told must not
/// be told in their place.
void check_released_files(const fs::path& folder, const std::vector<LedgerLine>& lines) {
  for (const std::uint64_t number : released_files(folder)) {
    require(number >= 1 && number <= lines.size(), ErrorCode::invalid_data,
            "{}: release {} was made but the ledger has {} lines: it was cut or lost, and nothing more is released; "
            "put the newest one back, or move the folder away, and the next start says how an operator answers for it",
            (folder / kLedger).string(), number, lines.size());
  }
  for (const LedgerLine& line : lines) {
    if (const fs::path file = released_path(folder, line.sequence); fs::exists(file)) {
      static_cast<void>(read_released(folder, line));
    } else {
      log::warning(
          "{}: is missing: either a crash came between its line and its bytes, which were never told then, or somebody "
          "took it away; what it answers to would be told anew, and cost anew",
          file.string());
    }
  }
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

}  // namespace

/// The open file, locked against other processes.
struct Ledger::Held {
  detail::PosixFile file;
};

namespace {

/// By rho alone; without a delta there is no such epsilon.
double converted_epsilon(double rho, const PrivacyBudget& budget) {
  if (budget.delta == 0) {
    return std::numeric_limits<double>::infinity();
  }
  return budget.calibration == Calibration::analytic ? analytic_epsilon(rho, budget.delta)
                                                     : epsilon_of(rho, budget.delta);
}

}  // namespace

PrivacySpent spent_by(const std::vector<LedgerLine>& lines, const PrivacyBudget& budget) {
  struct Sums {
    double rho = 0;
    double epsilon = 0;
    bool pure = true;

    void add(const ReleaseCost& cost) {
      rho += cost.rho;
      epsilon += cost.epsilon.value_or(0);
      pure = pure && cost.epsilon.has_value();
    }
  };
  PrivacySpent spent;
  std::map<std::int64_t, Sums> versions;
  std::map<std::string, std::uint64_t> told;
  for (const LedgerLine& line : lines) {
    versions[budget.versions_disjoint && !line.is_vouched() ? line.key.version : 0];
  }
  for (const LedgerLine& line : lines) {
    std::uint64_t& count = told[line.key.job];
    if (!line.is_vouched()) {
      versions[budget.versions_disjoint ? line.key.version : 0].add(line.cost);
      count += 1;
      spent.releases += 1;
      continue;
    }
    // Nobody knows of which versions they were: they count with each.
    for (auto& [version, sums] : versions) {
      sums.add(line.cost);
    }
    const auto vouched = std::max(count, static_cast<std::uint64_t>(line.key.version));
    spent.releases += line.cost.rho > 0 ? static_cast<int>(vouched - count) : 0;
    count = vouched;
  }
  for (const auto& [version, sums] : versions) {
    const double plain = sums.pure ? sums.epsilon : std::numeric_limits<double>::infinity();
    spent.rho = std::max(spent.rho, sums.rho);
    spent.epsilon = std::max(spent.epsilon, std::min(plain, converted_epsilon(sums.rho, budget)));
  }
  return spent;
}

ReleaseCounts counts_of(const std::vector<LedgerLine>& lines) {
  ReleaseCounts counts;
  for (const LedgerLine& line : lines) {
    const bool is_first = !counts.contains(line.key.job);
    ReleaseCount& count = counts[line.key.job];
    count.releases =
        line.is_vouched() ? std::max(count.releases, static_cast<std::uint64_t>(line.key.version)) : count.releases + 1;
    count.rho += line.cost.rho;
    const bool is_pure = line.cost.epsilon && (is_first || count.epsilon);
    count.epsilon = is_pure ? std::optional(count.epsilon.value_or(0) + *line.cost.epsilon) : std::nullopt;
  }
  return counts;
}

Ledger::Ledger(fs::path folder, const PrivacyBudget& budget) : folder_(std::move(folder)), budget_(budget) {
  make_writable_folder(folder_);
  make_writable_folder(folder_ / kReleased);
  const fs::path path = folder_ / kLedger;
  held_ = std::make_unique<Held>(Held{detail::PosixFile(path, O_RDWR | O_CREAT | O_APPEND)});
  require(held_->file.try_lock(), ErrorCode::io, "{}: another process holds this ledger", path.string());
  detail::sync_folder(folder_);
  remove_unfinished_writes(folder_ / kReleased);
  LedgerText text = read_ledger_text(read_text(path), path.string());
  check_released_files(folder_, text.lines);
  // What was cut short has no released file, so it never left; the line is written anew.
  if (held_->file.size() != text.whole_size) {
    held_->file.truncate(text.whole_size);
    held_->file.sync();
  }
  lines_ = std::move(text.lines);
  last_check_ = std::move(text.last_check);
}

Ledger::~Ledger() = default;
Ledger::Ledger(Ledger&&) noexcept = default;

bool Ledger::covers(const ReleaseKey& key, const ReleaseCost& cost) const {
  std::vector<LedgerLine> after = lines_;
  after.push_back({0, key, cost, "", 0});
  const PrivacySpent spent = spent_by(after, budget_);
  return spent.releases <= budget_.releases && spent.epsilon <= budget_.epsilon * (1 + kSlack);
}

void Ledger::append(const ReleaseKey& key, const ReleaseCost& cost, std::span<const std::byte> bytes) {
  require(is_word(key.kind) && is_word(key.job), ErrorCode::internal,
          "[privacy] kind and job must be words, got \"{}\" and \"{}\"", key.kind, key.job);
  const double total = lines_.empty() ? cost.rho : lines_.back().total_rho + cost.rho;
  LedgerLine line{lines_.size() + 1, key, cost, sha256(bytes), total};
  std::string check;
  const std::string text = write_line(line, last_check_, check);
  fault_point("ledger.begun");
  held_->file.write_all(std::as_bytes(std::span(text)));
  held_->file.sync();
  fault_point("ledger.line_written");
  lines_.push_back(std::move(line));
  last_check_ = std::move(check);
  write_file_atomically(released_path(folder_, lines_.back().sequence), bytes);
  fault_point("ledger.bytes_written");
}

std::optional<Bytes> Ledger::release(const ReleaseKey& key, const ReleaseCost& cost,
                                     const std::function<Bytes()>& make) {
  require(key.kind != kVouched, ErrorCode::internal, "[privacy] nothing is released as {}", key.kind);
  require(std::isfinite(cost.rho) && cost.rho > 0, ErrorCode::internal, "[privacy] a release must cost rho, got {}",
          cost.rho);
  for (const LedgerLine& line : lines_) {
    // A line whose bytes were never written is budget that a crash wasted.
    if (line.key == key && fs::exists(released_path(folder_, line.sequence))) {
      return read_released(folder_, line);
    }
  }
  if (!covers(key, cost)) {
    return std::nullopt;
  }
  Bytes bytes = make();
  append(key, cost, bytes);
  return bytes;
}

void Ledger::vouch(const std::string& job, std::uint64_t releases, const ReleaseCost& cost, std::string_view reason) {
  const std::uint64_t before = counts_of(lines_)[job].releases;
  require(releases > before && releases <= kMostReleases, ErrorCode::invalid_config,
          "{}: has {} releases to {}; vouch for more than that and at most {}, got {}", folder_.string(), before, job,
          kMostReleases, releases);
  require(std::isfinite(cost.rho) && cost.rho >= 0 && std::isfinite(cost.epsilon.value_or(0)) &&
              cost.epsilon.value_or(0) >= 0,
          ErrorCode::invalid_config, "{}: what is vouched for must cost nothing or more, got rho {}", folder_.string(),
          cost.rho);
  require(is_word(job) && !reason.empty(), ErrorCode::invalid_config,
          "{}: to vouch for it, a federation and a reason are needed", folder_.string());
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  append({std::string(kVouched), job, static_cast<std::int64_t>(releases),
          std::chrono::duration_cast<std::chrono::seconds>(now).count()},
         cost, std::as_bytes(std::span(reason)));
}

std::vector<LedgerLine> audit_ledger(const fs::path& folder) {
  const fs::path path = folder / kLedger;
  const std::string text = read_text(path);
  LedgerText ledger = read_ledger_text(text, path.string());
  check_released_files(folder, ledger.lines);
  require(ledger.whole_size == text.size(), ErrorCode::invalid_data, "{}: the last line is cut", path.string());
  return ledger.lines;
}

}  // namespace feroma
