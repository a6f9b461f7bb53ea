#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace feroma::cli {

/// Whether somebody watches this stream: progress bars and colours are for terminals only.
[[nodiscard]] bool is_terminal(std::FILE* stream);
/// A terminal whose user has not set NO_COLOR.
[[nodiscard]] bool wants_colour(std::FILE* stream);
/// `text` in red where `stream` wants colour.
[[nodiscard]] std::string red(std::string_view text, std::FILE* stream);

}  // namespace feroma::cli
