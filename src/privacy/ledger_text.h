#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "feroma/privacy/ledger.h"

namespace feroma {

/// Lines read from a ledger's text.
struct LedgerText {
  std::vector<LedgerLine> lines;
  std::string last_check;      ///< of the last line; the next one is checked together with it
  std::size_t whole_size = 0;  ///< bytes of complete lines; what follows was cut
};

/// One line with its checksum, which covers the checksum before it too: none can be left out.
[[nodiscard]] std::string write_line(const LedgerLine& line, std::string_view check_before, std::string& check);
/// Reads what write_line wrote; a line that does not fit is an invalid_data error that names it.
[[nodiscard]] LedgerText read_ledger_text(std::string_view text, const std::string& name);

}  // namespace feroma
