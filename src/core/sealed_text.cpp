#include "core/sealed_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "feroma/core/files.h"

namespace feroma::detail {

std::string sealed(std::string_view mark, std::size_t entries, std::string_view rest) {
  return fmt::format("{}{} entries, SHA-256 of what follows {}\n{}", mark, entries,
                     sha256(std::as_bytes(std::span(rest))), rest);
}

std::string_view below_seal(std::string_view mark, std::string_view text) {
  return text.starts_with(mark) ? text.substr(std::min(text.find('\n'), text.size() - 1) + 1) : text;
}

bool keeps_seal(std::string_view mark, std::size_t entries, std::string_view text) {
  return !text.starts_with(mark) || text == sealed(mark, entries, below_seal(mark, text));
}

}  // namespace feroma::detail
