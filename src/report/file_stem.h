#pragma once

#include <string>
#include <string_view>

namespace feroma::detail {

/// A text as part of a file's name: letters, digits, dots and underscores, with dashes between them.
[[nodiscard]] std::string file_stem(std::string_view text);

}  // namespace feroma::detail
