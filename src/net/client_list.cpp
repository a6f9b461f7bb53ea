#include "feroma/net/client_list.h"

#include <algorithm>
#include <limits>
#include <set>
#include <span>

#include "core/sealed_text.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/core/number.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kRevoked = "revoked";
constexpr std::string_view kHeading =
    "# The clients of this federation: id, name, SHA-256 of the certificate. Who is not here may not take part.\n"
    "# The word \"revoked\" at the end of a line shuts a client out.\n";
constexpr std::string_view kListSeal = "# feroma-clients 2: ";
constexpr std::size_t kFingerprintDigits = 64;
constexpr std::size_t kLongestName = 64;

/// One line of the file without its line feed.
struct Line {
  std::string_view text;
  std::size_t number = 0;  ///< from 1

  /// Up to the comment and the blanks before it.
  [[nodiscard]] std::string_view content() const {
    const std::string_view before = text.substr(0, text.find('#'));
    return before.substr(0, before.find_last_not_of(kBlanks) + 1);
  }
  [[nodiscard]] std::vector<std::string_view> words() const {
    std::vector<std::string_view> words;
    const std::string_view line = content();
    for (std::size_t at = line.find_first_not_of(kBlanks); at < line.size();) {
      const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
      words.push_back(line.substr(at, end - at));
      at = line.find_first_not_of(kBlanks, end);
    }
    return words;
  }
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back({text.substr(0, end), lines.size() + 1});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool is_fingerprint(std::string_view word) {
  return word.size() == kFingerprintDigits &&
         std::all_of(word.begin(), word.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::optional<ClientId> parse_id(std::string_view word) {
  const auto value = parse_number<std::uint32_t>(word);
  return value ? std::optional(ClientId{*value}) : std::nullopt;
}

/// `where` is file and line, as errors name them.
ClientEntry parse_entry(const std::vector<std::string_view>& words, const std::string& where) {
  require(words.size() == 3 || words.size() == 4, ErrorCode::invalid_data,
          "{}: a line must be ID NAME FINGERPRINT, or the same and the word revoked; got {} words", where,
          words.size());
  const std::optional<ClientId> id = parse_id(words[0]);
  require(id.has_value(), ErrorCode::invalid_data, "{}: an id must be a whole number from 0 to {}, got {}", where,
          std::numeric_limits<std::uint32_t>::max(), words[0]);
  require(is_client_name(words[1]), ErrorCode::invalid_data,
          "{}: a name must be 1 to 64 letters, digits, dots, underscores and hyphens and not begin with a dot, got {}",
          where, words[1]);
  require(is_fingerprint(words[2]), ErrorCode::invalid_data,
          "{}: a fingerprint must be 64 lower-case hex digits, got {}", where, words[2]);
  require(words.size() == 3 || words[3] == kRevoked, ErrorCode::invalid_data,
          "{}: the only word after a fingerprint is revoked, got {}", where, words.back());
  return {*id, std::string(words[1]), std::string(words[2]), words.size() == 4};
}

/// Refuses what a line before has already taken: otherwise it would be chance for whom a certificate speaks.
class Taken {
 public:
  void add(const ClientEntry& entry, const std::string& where) {
    require(ids_.insert(entry.id).second, ErrorCode::invalid_data,
            "{}: every client must have its own id, but {} is that of a line before", where, to_index(entry.id));
    require(names_.insert(entry.name).second, ErrorCode::invalid_data,
            "{}: every client must have its own name, but {} is that of a line before", where, entry.name);
    require(fingerprints_.insert(entry.fingerprint).second, ErrorCode::invalid_data,
            "{}: every client must have its own certificate, but {} is that of a line before", where,
            entry.fingerprint);
  }

 private:
  std::set<ClientId> ids_;
  std::set<std::string> names_;
  std::set<std::string> fingerprints_;
};

ClientList parse_list(std::string_view text, const fs::path& path) {
  std::vector<ClientEntry> entries;
  Taken taken;
  for (const Line& line : lines_of(text)) {
    const std::vector<std::string_view> words = line.words();
    if (!words.empty()) {
      const std::string where = fmt::format("{}:{}", path.string(), line.number);
      entries.push_back(parse_entry(words, where));
      taken.add(entries.back(), where);
    }
  }
  require(detail::keeps_seal(kListSeal, entries.size(), text), ErrorCode::invalid_data,
          "{}: is cut, damaged or was changed by hand: {} clients follow the first line, which says otherwise or has "
          "another SHA-256; carry it over again from where certificates are made, or take that line out if the rest is "
          "right",
          path.string(), entries.size());
  return ClientList(std::move(entries));
}

/// Whether a list can be read is seen before it is written: one that cannot would shut everybody out.
void write_sealed(const fs::path& path, const std::string& rest) {
  write_file_atomically(path, detail::sealed(kListSeal, parse_list(rest, path).entries().size(), rest));
}

ClientEntry listed_client(std::string_view text, std::string_view name, const fs::path& path) {
  const std::optional<ClientEntry> entry = parse_list(text, path).find_name(name);
  require(entry.has_value(), ErrorCode::invalid_config, "{}: names no client {}", path.string(), name);
  return *entry;
}

/// Writes the list with what `rewritten` makes of the content of one client's line.
template <class Rewritten>
void rewrite_line(const fs::path& path, std::string_view text, std::string_view name, Rewritten rewritten) {
  std::string rest;
  for (const Line& line : lines_of(detail::below_seal(kListSeal, text))) {
    const std::vector<std::string_view> words = line.words();
    const std::string_view content = line.content();
    rest += words.size() > 1 && words[1] == name ? rewritten(line) : std::string(content);
    rest += line.text.substr(content.size());
    rest += '\n';
  }
  write_sealed(path, rest);
}

template <class Matches>
std::optional<ClientEntry> first(const std::vector<ClientEntry>& entries, Matches matches) {
  const auto found = std::find_if(entries.begin(), entries.end(), matches);
  return found == entries.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

ClientList::ClientList(std::vector<ClientEntry> entries) : entries_(std::move(entries)) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    by_fingerprint_.emplace(entries_[i].fingerprint, i);
  }
}

std::optional<ClientEntry> ClientList::find(std::string_view fingerprint) const {
  const auto found = by_fingerprint_.find(fingerprint);
  return found == by_fingerprint_.end() ? std::nullopt : std::optional(entries_[found->second]);
}

std::optional<ClientEntry> ClientList::find_name(std::string_view name) const {
  return first(entries_, [&](const ClientEntry& entry) { return entry.name == name; });
}

std::optional<ClientEntry> ClientList::find_id(ClientId id) const {
  return first(entries_, [&](const ClientEntry& entry) { return entry.id == id; });
}

ClientId ClientList::free_id() const {
  std::set<std::uint32_t> taken;
  for (const ClientEntry& entry : entries_) {
    taken.insert(to_index(entry.id));
  }
  std::uint32_t id = 0;
  for (const std::uint32_t other : taken) {  // in ascending order
    if (other != id) {
      break;
    }
    ++id;
  }
  return ClientId{id};
}

bool is_client_name(std::string_view name) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !name.empty() && name.size() <= kLongestName && name.front() != '.' &&
         name.find_first_not_of(kLetters) == std::string_view::npos;
}

ClientList read_client_list(const fs::path& path) { return parse_list(read_text(path), path); }

ClientList read_valid_client_list(const fs::path& path) {
  ClientList list = read_client_list(path);
  require(!list.entries().empty(), ErrorCode::invalid_data,
          "{}: names no client, so it was emptied or cut; carry it over again from where certificates are made",
          path.string());
  return list;
}

void add_to_client_list(const fs::path& path, const ClientEntry& entry) {
  std::error_code unknown;  // reading or writing says why
  const bool is_there = fs::exists(path, unknown);
  const std::string before = is_there ? read_text(path) : std::string(kHeading);
  static_cast<void>(parse_list(before, path));
  std::string text(detail::below_seal(kListSeal, before));
  if (!text.empty() && text.back() != '\n') {
    text += '\n';  // somebody edited the list by hand
  }
  text += fmt::format("{} {} {}{}\n", to_index(entry.id), entry.name, entry.fingerprint,
                      entry.revoked ? fmt::format(" {}", kRevoked) : "");
  write_sealed(path, text);
}

void revoke_in_client_list(const fs::path& path, std::string_view name) {
  const std::string text = read_text(path);
  if (listed_client(text, name, path).revoked) {
    return;
  }
  rewrite_line(path, text, name, [](const Line& line) { return fmt::format("{} {}", line.content(), kRevoked); });
}

ClientEntry renew_in_client_list(const fs::path& path, std::string_view name, std::string_view fingerprint) {
  const std::string text = read_text(path);
  ClientEntry entry = listed_client(text, name, path);
  rewrite_line(path, text, name, [&](const Line& line) {
    const std::string_view content = line.content();
    const auto begin = static_cast<std::size_t>(line.words()[2].data() - content.data());
    return fmt::format("{}{}{}", content.substr(0, begin), fingerprint, content.substr(begin + kFingerprintDigits));
  });
  entry.fingerprint = fingerprint;
  return entry;
}

}  // namespace feroma
