#pragma once

#include <map>
#include <string>
#include <string_view>

namespace feroma::detail {

/// Text that is safe inside an element and inside a quoted attribute.
[[nodiscard]] std::string escape_html(std::string_view text);
/// JSON that cannot end the script element it stands in.
[[nodiscard]] std::string escape_script(std::string_view json);
/// Replaces every {{name}} of the template; what is put in is not looked at again.
[[nodiscard]] std::string fill_template(std::string_view text, const std::map<std::string_view, std::string>& parts);

}  // namespace feroma::detail
