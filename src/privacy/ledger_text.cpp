#include "privacy/ledger_text.h"

#include <fmt/core.h>
#include <zlib.h>

#include <array>
#include <cmath>

#include "feroma/core/error.h"
#include "feroma/core/number.h"

namespace feroma {
namespace {

constexpr std::string_view kHeader = "feroma-ledger 1\n";
constexpr std::string_view kNothing = "-";

std::string check_of(std::string_view before, std::string_view text) {
  const std::string both = std::string(before) + std::string(text);
  return fmt::format("{:08x}", ::crc32_z(0, reinterpret_cast<const unsigned char*>(both.data()), both.size()));
}

/// Reads fields between spaces, one after the other.
class Fields {
 public:
  Fields(std::string_view text, std::string where) : text_(text), where_(std::move(where)) {}

  std::string_view next() {
    const std::size_t end = std::min(text_.find(' '), text_.size());
    const std::string_view field = text_.substr(0, end);
    require(!field.empty(), ErrorCode::invalid_data, "{}: a field is missing", where_);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    return field;
  }
  template <class T>
  T number() {
    const std::string_view field = next();
    const auto value = parse_number<T>(field);
    require(value.has_value(), ErrorCode::invalid_data, "{}: expected a number, got \"{}\"", where_, field);
    return *value;
  }
  double cost() {
    const auto value = number<double>();
    require(std::isfinite(value) && value >= 0, ErrorCode::invalid_data, "{}: a cost must be >= 0, got {}", where_,
            value);
    return value;
  }
  [[nodiscard]] bool done() const { return text_.empty(); }

 private:
  std::string_view text_;
  std::string where_;
};

LedgerLine read_line(std::string_view text, const std::string& where) {
  Fields fields(text, where);
  LedgerLine line;
  line.sequence = fields.number<std::uint64_t>();
  line.key.kind = fields.next();
  line.key.job = fields.next();
  line.key.version = fields.number<std::int64_t>();
  line.key.epoch = fields.number<std::int64_t>();
  line.cost.rho = fields.cost();
  Fields epsilon(fields.next(), where);
  if (const std::string_view shown = epsilon.next(); shown != kNothing) {
    line.cost.epsilon = Fields(shown, where).cost();
  }
  line.digest = fields.next();
  line.total_rho = fields.cost();
  require(fields.done(), ErrorCode::invalid_data, "{}: there is more than a line holds", where);
  return line;
}

}  // namespace

std::string write_line(const LedgerLine& line, std::string_view check_before, std::string& check) {
  const std::string text = fmt::format(
      "{} {} {} {} {} {} {} {} {}", line.sequence, line.key.kind, line.key.job, line.key.version, line.key.epoch,
      line.cost.rho, line.cost.epsilon ? fmt::format("{}", *line.cost.epsilon) : kNothing, line.digest, line.total_rho);
  check = check_of(check_before, text);
  return fmt::format("{}{} {}\n", line.sequence == 1 ? kHeader : "", text, check);
}

LedgerText read_ledger_text(std::string_view text, const std::string& name) {
  LedgerText ledger;
  if (text.size() < kHeader.size() && kHeader.starts_with(text)) {
    return ledger;  // nothing yet, or the first line was cut
  }
  require(text.starts_with(kHeader), ErrorCode::invalid_data, "{}: not a ledger of this version", name);
  ledger.whole_size = kHeader.size();
  double total = 0;
  while (true) {
    const std::size_t end = text.find('\n', ledger.whole_size);
    if (end == std::string_view::npos) {
      break;
    }
    const std::string_view whole = text.substr(ledger.whole_size, end - ledger.whole_size);
    const std::uint64_t sequence = ledger.lines.size() + 1;
    const std::string where = fmt::format("{}, line {}", name, sequence + 1);
    const std::size_t gap = whole.rfind(' ');
    require(gap != std::string_view::npos, ErrorCode::invalid_data, "{}: a field is missing", where);
    const std::string check = check_of(ledger.last_check, whole.substr(0, gap));
    require(whole.substr(gap + 1) == check, ErrorCode::invalid_data,
            "{}: its checksum must be {}, got {}: it or a line before it was changed", where, check,
            whole.substr(gap + 1));
    LedgerLine line = read_line(whole.substr(0, gap), where);
    total += line.cost.rho;
    require(line.sequence == sequence && line.total_rho == total, ErrorCode::invalid_data,
            "{}: must be release {} with total rho {}, got {} with {}", where, sequence, total, line.sequence,
            line.total_rho);
    ledger.lines.push_back(std::move(line));
    ledger.last_check = check;
    ledger.whole_size = end + 1;
  }
  if (ledger.lines.empty()) {
    ledger.whole_size = 0;  // the header is written with the first line
  }
  return ledger;
}

}  // namespace feroma
