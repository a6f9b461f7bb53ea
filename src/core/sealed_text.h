#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace feroma::detail {

// A text file of lines whose first line, the seal, says how many entries follow and which SHA-256 they have, so that a
// file that lost its end is told from one that is whole. `mark` begins that line; a text that begins otherwise has
// none.

/// The text with its seal before it.
[[nodiscard]] std::string sealed(std::string_view mark, std::size_t entries, std::string_view rest);
/// All but the seal.
[[nodiscard]] std::string_view below_seal(std::string_view mark, std::string_view text);
/// Whether the text has no seal, or that of what follows it.
[[nodiscard]] bool keeps_seal(std::string_view mark, std::size_t entries, std::string_view text);

}  // namespace feroma::detail
