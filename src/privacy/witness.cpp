#include "feroma/privacy/witness.h"

#include <fcntl.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>

#include "core/posix_file.h"
#include "feroma/core/error.h"
#include "feroma/core/fault_point.h"
#include "feroma/core/log.h"
#include "feroma/core/number.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "feroma-releases 1";
constexpr std::string_view kReleasesHeader =
    "feroma-releases 1: counts what was told of these data under a privacy budget; keep it (docs/privacy.md)\n";
constexpr std::string_view kNoNumber = "-";

std::string check_of(std::string_view text) {
  return fmt::format("{:08x}", ::crc32_z(0, reinterpret_cast<const unsigned char*>(text.data()), text.size()));
}

std::string shown(const std::optional<double>& number) { return number ? fmt::format("{}", *number) : "-"; }

/// One name for a ledger, whatever leads to it, be it there or not.
std::string place_of(const fs::path& folder) {
  std::error_code error;
  const fs::path place = fs::weakly_canonical(fs::absolute(folder), error);
  return (error ? fs::absolute(folder) : place).string();
}

/// As a shell takes it for one word.
std::string quoted(const std::string& text) {
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-").find(c) != std::string_view::npos;
  });
  return is_plain ? text : "'" + text + "'";
}

/// What an operator says so that `known` holds, where those that the ledger has not seen count as spent.
std::string vouch_command(const fs::path& folder, const std::string& job, const ReleaseCount& ledger,
                          const ReleaseCount& known) {
  const double rho = std::max(0.0, known.rho - ledger.rho);
  const std::string epsilon =
      known.epsilon ? fmt::format(" --epsilon {}", std::max(0.0, *known.epsilon - ledger.epsilon.value_or(0))) : "";
  return fmt::format("feroma privacy vouch {} --job {} --releases {} --rho {}{} --reason WHY", quoted(place_of(folder)),
                     quoted(job), known.releases, rho, epsilon);
}

ReleaseCount count_in(const ReleaseCounts& counts, const std::string& job) {
  const auto found = counts.find(job);
  return found == counts.end() ? ReleaseCount{} : found->second;
}

/// The larger of both, by the number of releases.
void raise(ReleaseCounts& counts, const std::string& job, const ReleaseCount& count) {
  if (ReleaseCount& known = counts[job]; count.releases > known.releases) {
    known = count;
  }
}

}  // namespace

void require_not_behind(const fs::path& folder, const ReleaseCounts& ledger, const std::string& witness,
                        const ReleaseCounts& known) {
  std::string missing;
  std::string commands;
  for (const auto& [job, count] : known) {
    const ReleaseCount has = count_in(ledger, job);
    if (has.releases < count.releases) {
      missing += fmt::format("{} {} releases to federation {}, {} knows of {}", missing.empty() ? "has" : ";",
                             has.releases, job, witness, count.releases);
      commands += "\n  " + vouch_command(folder, job, has, count);
    }
  }
  constexpr std::string_view kOfAnotherFederation =
      "; where these data took part in another federation before, a new ledger is expected to know nothing of it, and "
      "--rho 0 in place of the cost gives this one a second budget, beside the first";
  require(missing.empty(), ErrorCode::invalid_data,
          "{}: {}. The ledger was lost, begun anew or is an older copy, and nothing is told of these data: put the "
          "newest one back, or name it ([privacy] ledger). Where there is none, an operator answers for what is "
          "missing{}:{}",
          folder.string(), missing, ledger.empty() ? kOfAnotherFederation : "", commands);
}

struct WitnessFile::Held {
  detail::PosixFile file;
};

WitnessFile::WitnessFile(const fs::path& path) : path_(path) {
  if (!path.parent_path().empty() && !fs::exists(path.parent_path())) {
    make_writable_folder(path.parent_path());
  }
  std::error_code unknown;  // opening says why
  const bool was_there = fs::exists(path, unknown);
  held_ = std::make_unique<Held>(Held{detail::PosixFile(path, O_RDWR | O_CREAT | O_APPEND)});
  held_->file.lock();
  read(was_there);
}

WitnessFile::~WitnessFile() = default;
WitnessFile::WitnessFile(WitnessFile&&) noexcept = default;

WitnessFile::Line WitnessFile::read_line(std::string_view text, const std::string& where) {
  // The folder comes last: its name may have blanks.
  std::vector<std::string_view> fields;
  std::string_view rest = text;
  for (int i = 0; i < 5; ++i) {
    const std::size_t gap = rest.find(' ');
    require(gap != std::string_view::npos, ErrorCode::invalid_data, "{}: a field is missing", where);
    fields.push_back(rest.substr(0, gap));
    rest.remove_prefix(gap + 1);
  }
  require(fields[0] == check_of(text.substr(fields[0].size() + 1)), ErrorCode::invalid_data,
          "{}: was changed: its checksum is wrong", where);
  const auto releases = parse_number<std::uint64_t>(fields[2]);
  const auto rho = parse_number<double>(fields[3]);
  const auto epsilon = parse_number<double>(fields[4]);
  require(releases && rho && (epsilon || fields[4] == kNoNumber), ErrorCode::invalid_data,
          "{}: expected a count and what it cost, got \"{}\"", where, text);
  return {std::string(fields[1]), {*releases, *rho, epsilon}, std::string(rest)};
}

void WitnessFile::begin(bool was_there) {
  if (was_there) {
    log::warning(
        "{}: is empty or cut in its first line: what it counted is gone, and it speaks only of what the ledger has; "
        "what the client remembers and the server still count",
        path_.string());
  }
  held_->file.truncate(0);
  held_->file.write_all(std::as_bytes(std::span(kReleasesHeader)));
  held_->file.sync();
  detail::sync_folder(path_.parent_path());
}

void WitnessFile::read(bool was_there) {
  const std::string text = read_text(path_);
  const std::size_t first = text.find('\n');
  if (first == std::string::npos) {
    require(kReleasesHeader.starts_with(text), ErrorCode::invalid_data, "{}: is no file that counts releases",
            path_.string());
    begin(was_there);
    return;
  }
  require(text.starts_with(kMagic), ErrorCode::invalid_data,
          "{}: is no file that counts releases, or of another version", path_.string());
  const auto control = std::find_if(text.begin(), text.end(), [](char c) { return c >= 0 && c < ' ' && c != '\n'; });
  require(control == text.end(), ErrorCode::invalid_data, "{}: was changed: it has a character that is none of a text",
          path_.string());
  std::size_t at = first + 1;
  for (std::size_t end = text.find('\n', at); end != std::string::npos; end = text.find('\n', at)) {
    const std::string where = fmt::format("{}, line {}", path_.string(), lines_.size() + 2);
    lines_.push_back(read_line(std::string_view(text).substr(at, end - at), where));
    at = end + 1;
  }
  if (at < text.size()) {
    // Nothing is told before its line is whole, but somebody may have cut a line that was.
    log::warning(
        "{}: line {} is not whole and is dropped: either its writer was stopped and nothing was told, or the file was "
        "cut and counts less than it did",
        path_.string(), lines_.size() + 2);
    held_->file.truncate(at);
    held_->file.sync();
  }
}

ReleaseCounts WitnessFile::known(const fs::path& folder, const std::string& job, bool begins) const {
  const std::string place = place_of(folder);
  ReleaseCounts counts;
  for (const Line& line : lines_) {
    if (begins || line.job == job || line.ledger == place) {
      raise(counts, line.job, line.count);
    }
  }
  return counts;
}

void WitnessFile::note(const fs::path& folder, const ReleaseCounts& ledger) {
  const std::string place = place_of(folder);
  require(place.find('\n') == std::string::npos, ErrorCode::invalid_config,
          "{}: a ledger's folder must not have a line break in its name", place);
  ReleaseCounts here;
  for (const Line& line : lines_) {
    if (line.ledger == place) {
      raise(here, line.job, line.count);
    }
  }
  std::string text;
  for (const auto& [job, count] : ledger) {
    if (count.releases > count_in(here, job).releases) {
      const std::string line =
          fmt::format("{} {} {} {} {}", job, count.releases, count.rho, shown(count.epsilon), place);
      text += fmt::format("{} {}\n", check_of(line), line);
      lines_.push_back({job, count, place});
    }
  }
  if (text.empty()) {
    return;
  }
  fault_point("witness.begun");
  held_->file.write_all(std::as_bytes(std::span(text)));
  held_->file.sync();
  fault_point("witness.written");
}

void put(ArchiveWriter& out, const ReleaseCount& count) {
  out.put(count.releases);
  out.put(count.rho);
  out.put(count.epsilon.has_value());
  out.put(count.epsilon.value_or(0));
}

ReleaseCount get_release_count(ArchiveReader& in) {
  ReleaseCount count;
  count.releases = in.get<std::uint64_t>();
  count.rho = in.get<double>();
  const bool is_pure = in.get<bool>();
  const auto epsilon = in.get<double>();
  count.epsilon = is_pure ? std::optional(epsilon) : std::nullopt;
  return count;
}

void put(ArchiveWriter& out, const ReleaseCounts& counts) {
  out.put<std::uint32_t>(static_cast<std::uint32_t>(counts.size()));
  for (const auto& [job, count] : counts) {
    out.put(std::string_view(job));
    put(out, count);
  }
}

ReleaseCounts get_release_counts(ArchiveReader& in) {
  ReleaseCounts counts;
  for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
    const std::string job = in.get_string();
    counts[job] = get_release_count(in);
  }
  return counts;
}

}  // namespace feroma
